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

/// The shared counter that the source's empty task increments. Thread-safe but for expect(), which is called
/// while no task is under way. Must outlive the tasks, also those that a faulty system runs too late.
class completion {
public:
    /// The next `tasks` hits make it complete.
    void expect(std::uint64_t tasks) {
        done_.store(0, std::memory_order_relaxed);
        expected_.store(tasks, std::memory_order_relaxed);
        const std::lock_guard lock(mutex_);
        complete_ = false;
    }

    /// One task has run.
    void hit() noexcept {
        // acq_rel: whoever sees the completion sees what all tasks wrote.
        if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == expected_.load(std::memory_order_relaxed))
            finish();
    }

    /// Waits for the expected hits; fails the cell if none arrives for as long as its patience lasts.
    void wait(const cell& c);

    /// Fails the cell unless exactly the expected hits have come.
    void check(const cell& c) const;

private:
    void finish() noexcept;

    alignas(128) std::atomic<std::uint64_t> done_{0};
    alignas(128) std::atomic<std::uint64_t> expected_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
    bool complete_ = false;
};

/// Remembers for each task, by number, how often it ran. Used in a run of its own, outside the clock.
class attendance {
public:
    explicit attendance(std::size_t tasks)
        : tasks_(tasks), times_(std::make_unique<std::atomic<std::uint8_t>[]>(tasks)) {}

    /// Thread-safe.
    void mark(std::size_t task) noexcept { times_[task].fetch_add(1, std::memory_order_relaxed); }

    /// Fails the cell, naming the first task that did not run exactly once.
    void check(const cell& c) const;

private:
    std::size_t tasks_;
    std::unique_ptr<std::atomic<std::uint8_t>[]> times_;
};

} // namespace lab
