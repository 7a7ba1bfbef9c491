/// The report of a pool whose threads make no progress.
///
/// Part: pool. Used by: programs, through thread_pool_options::on_stall.
#pragma once

#include <ekiden/sys/config.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// A waiting thread of a pool.
struct stalled_thread {
    unsigned index = 0; ///< the index of the worker, as in the thread's name
    std::string task;   ///< the type of the running task
    std::string
        waits_for; ///< the type of the task whose result it waits for, or the text of a blocking_region
    std::chrono::nanoseconds waited{}; ///< how long it has waited; 0 if unknown
};

/// Why a pool makes no progress.
struct stall_report {
    /// The possible causes.
    enum class reason : std::uint8_t {
        saturated,  ///< tasks wait, all threads are blocked, and the pool has `max_threads` threads
        deadlocked, ///< tasks of this pool wait for each other's results in a cycle
    };
    reason why = reason::saturated; ///< the cause
    std::vector<stalled_thread>
        threads; ///< all threads; if deadlocked, those in the cycle, each waiting for the next
    std::uint64_t tasks_pending = 0; ///< the tasks that are queued or running

    /// Returns the report as text, with a line for each thread. Throws std::bad_alloc.
    [[nodiscard]] std::string text() const;
};

} // namespace ekiden::inline EKIDEN_ABI
