/// The report about a task that runs for a long time.
///
/// Part: pool. Used by: programs, through thread_pool_options::on_slow_task.
#pragma once

#include <ekiden/sys/config.hpp>
#include <ekiden/sys/lock.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// A report about a task that has run for longer than thread_pool_options::slow_task_time. A report is a
/// plain value.
struct slow_task_report {
    unsigned index = 0; ///< the index of the worker, which is also in the thread's name
    std::string task;   ///< The type of the task.
    /// The time since which the task has certainly run. The task began at most one `watch_interval` earlier.
    std::chrono::steady_clock::time_point since{};
    std::chrono::nanoseconds ran_for{}; ///< the time from `since` to the report
    /// The text of the task's blocking_region, or the type of the task whose result the task awaits. Empty if
    /// the task computes, or if it blocks outside of a blocking_region.
    std::string waits_for;
    /// The call stack of the worker, with a line for each call, the innermost call first. Empty if
    /// thread_pool_options::stack_signal is 0, if the system provides no call stacks, if the thread blocks
    /// the signal, or if the task has ended meanwhile.
    std::string call_stack;

    /// Returns the report as text. Throws std::bad_alloc.
    [[nodiscard]] std::string text() const;
};

/// The newest reports about slow tasks. A handler in thread_pool_options::on_slow_task adds the reports, and
/// add_metrics() exports them to Prometheus. Any thread may call all members except the destructor.
class slow_task_history {
public:
    /// Keeps the newest `most` reports. Throws std::bad_alloc.
    explicit slow_task_history(std::size_t most = 8) : most_(most) {}

    /// Adds a report, and drops the oldest report if there are more than `most`. If there is no memory, the
    /// call has no effect.
    void add(const slow_task_report& report) noexcept;

    /// Returns the reports, the newest report first. Throws std::bad_alloc.
    [[nodiscard]] std::vector<slow_task_report> newest() const;

private:
    const std::size_t most_;
    mutable sys::slow_lock lock_;
    std::deque<slow_task_report> all_; // under lock_, the newest first
};

} // namespace ekiden::inline EKIDEN_ABI
