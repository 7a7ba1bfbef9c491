/// Counts finished tasks, and checks that each ran exactly once.
///
/// Used by: the experiments' workloads.
#pragma once

#include <lab/harness/cell.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace lab {

/// A shared counter that each empty task increments. Thread-safe, except expect(), which must be called while
/// no task is pending. Must outlive the tasks, even tasks that a faulty system runs too late.
class completion {
public:
    /// Makes the object wait for the next `tasks` hits.
    void expect(std::uint64_t tasks) {
        done_.store(0, std::memory_order_relaxed);
        expected_.store(tasks, std::memory_order_relaxed);
        const std::lock_guard lock(mutex_);
        complete_ = false;
    }

    /// Records that one task has run.
    void hit() noexcept {
        // acq_rel: a thread that sees the completion also sees everything that the tasks wrote.
        if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == expected_.load(std::memory_order_relaxed))
            finish();
    }

    /// Waits for the expected hits. Fails the cell if none arrives within its patience.
    void wait(const cell& c);

    /// Fails the cell unless exactly the expected number of hits has arrived.
    void check(const cell& c) const;

private:
    void finish() noexcept;

    alignas(128) std::atomic<std::uint64_t> done_{0};
    alignas(128) std::atomic<std::uint64_t> expected_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
    bool complete_ = false;
};

/// Counts for each task, by its number, how often it ran. Used in a separate run that is not timed.
class attendance {
public:
    explicit attendance(std::size_t tasks)
        : tasks_(tasks), times_(std::make_unique<std::atomic<std::uint8_t>[]>(tasks)) {}

    /// Thread-safe.
    void mark(std::size_t task) noexcept { times_[task].fetch_add(1, std::memory_order_relaxed); }

    /// Fails the cell unless each task ran exactly once. Names the first task that did not.
    void check(const cell& c) const;

private:
    std::size_t tasks_;
    std::unique_ptr<std::atomic<std::uint8_t>[]> times_;
};

} // namespace lab
