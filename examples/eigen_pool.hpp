/// A pool of this library behind the interface that Eigen's Tensor module asks of a pool.
///
/// Used by: with_eigen.cpp, and experiment eigen-tensor of the lab. Copy it into a program that wants it.
#pragma once

#include <ekiden/pool.hpp>
#include <unsupported/Eigen/CXX11/ThreadPool>

#include <functional>
#include <utility>

/// Refers to the pool, which must live longer, and must not be stopped while Eigen computes. Thread-safe.
///
/// The thread that evaluates an expression waits for it, and runs no task of the pool meanwhile. So tasks of
/// the pool that evaluate expressions may take all workers and wait for ever, as in Eigen's own pool; a pool
/// that grows while its workers block (`max_threads`) goes on.
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
