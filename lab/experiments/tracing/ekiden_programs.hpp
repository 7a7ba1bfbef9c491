/// Typical actions of programs with ekiden, for the library with traces and the library without.
#pragma once

#include <lab/experiments/tracing/tracing.hpp>

#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/mutex.hpp>

#include <atomic>
#include <mutex>
#include <thread>

namespace lab::tracing {
namespace { // separate for the library of each source

class whole_programs {
public:
    explicit whole_programs(const cell& c) : pool_({.threads = c.workers()}) {}

    void tasks(std::size_t n) {
        for (std::size_t i = 0; i != n; ++i)
            pool_.post([this] { run_.fetch_add(1, std::memory_order_relaxed); });
        pool_.wait_idle();
    }
    void locks(std::size_t n) {
        for (std::size_t i = 0; i != n; ++i) const std::lock_guard guard(mutex_);
    }
    void shared_locks(std::size_t n) {
        std::thread other([this, n] { locks(n / 2); });
        locks(n - n / 2);
        other.join();
    }

private:
    ekiden::thread_pool pool_;
    ekiden::mutex mutex_;
    std::atomic<std::size_t> run_{0};
};

} // namespace
} // namespace lab::tracing
