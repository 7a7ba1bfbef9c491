/// Makes a pool of this library usable by Eigen's Tensor module.
///
/// Used by: with_eigen.cpp, and experiment eigen-tensor of the lab. Copy it into your program.
#pragma once

#include <ekiden/pool.hpp>
#include <unsupported/Eigen/CXX11/ThreadPool>

#include <functional>
#include <utility>

/// Refers to the pool. The pool must outlive it and must not be stopped while Eigen computes. Thread-safe.
///
/// The thread that evaluates an expression waits for it and runs no task of the pool meanwhile. So tasks that
/// evaluate expressions may occupy all workers and wait forever, as in Eigen's own pool. A pool that grows
/// while its workers block (`max_threads`) avoids this.
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
