/// A pool of this library behind the interface that Eigen's Tensor module asks of a pool.
///
/// Used by: with_eigen.cpp, and experiment eigen-tensor of the lab. Copy it into a program that wants it.
#pragma once

#include <ekiden/pool/thread_pool.hpp>
#include <unsupported/Eigen/CXX11/ThreadPool>

#include <functional>
#include <utility>

/// Refers to the pool, which must live longer. Thread-safe.
class eigen_pool final : public Eigen::ThreadPoolInterface {
public:
    explicit eigen_pool(ekiden::thread_pool& pool) : pool_(pool) {}

    void Schedule(std::function<void()> f) override { pool_.post(std::move(f)); }
    [[nodiscard]] int NumThreads() const override { return static_cast<int>(pool_.thread_count()); }
    [[nodiscard]] int CurrentThreadId() const override {
        const auto index = pool_.this_worker_index();
        return index ? static_cast<int>(*index) : -1;
    }

private:
    ekiden::thread_pool& pool_;
};
