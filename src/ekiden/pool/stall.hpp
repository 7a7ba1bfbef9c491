/// The report about a pool whose threads make no progress.
///
/// Part: pool. Used by: programs, through thread_pool_options::on_stall.
#pragma once

#include <ekiden/sys/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// A waiting thread of a pool.
struct stalled_thread {
    unsigned index = 0; ///< the index of the worker, which is also in the thread's name
    std::string task;   ///< The type of the task that the thread runs.
    /// The type of the task whose result the thread awaits, or the text of the thread's blocking_region.
    std::string waits_for;
    std::chrono::nanoseconds waited{}; ///< how long the thread has waited; 0 if unknown
    /// The number of tasks on the thread's stack that wait for results. 0 if the thread waits for something
    /// else.
    std::size_t nested_waits = 0;
};

/// A report that says why a pool makes no progress.
struct stall_report {
    /// The possible causes.
    enum class reason : std::uint8_t {
        saturated,  ///< tasks are queued, but the pool has `max_threads` threads, and all are blocked
        deadlocked, ///< tasks of the pool wait for each other's results in a cycle
        /// Tasks are queued. Every thread waits for a result, and has too little stack left to run them: see
        /// thread_pool_options::stack_reserve.
        too_deep,
    };
    reason why = reason::saturated; ///< The cause.
    /// The waiting threads. If the reason is `deadlocked`, these are the threads in the cycle, and each waits
    /// for the next thread in the list. Otherwise the list contains all threads of the pool.
    std::vector<stalled_thread> threads;
    std::uint64_t tasks_pending = 0; ///< the number of tasks that are queued or running

    /// Returns the report as text, with a line for each thread. Throws std::bad_alloc.
    [[nodiscard]] std::string text() const;
};

} // namespace ekiden::inline EKIDEN_ABI
