/// What a pool reports when its threads cannot get on.
///
/// Part: pool. Used by: programs, through thread_pool_options::on_stall.
#pragma once

#include <ekiden/sys/config.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// One thread of a pool that waits.
struct stalled_thread {
    unsigned index = 0;    ///< its number in the pool, as in the thread's name
    std::string task;      ///< the type of the task that it runs
    std::string waits_for; ///< the type of the task whose result it waits for, or what a blocking_region said
    std::chrono::nanoseconds waited{}; ///< how long, so far; 0 if unknown
};

/// Why a pool does not get on.
struct stall_report {
    /// What holds it up.
    enum class reason : std::uint8_t {
        saturated,  ///< tasks wait, all threads are blocked, and there are `max_threads` of them
        deadlocked, ///< tasks of this pool wait for each other's results, in a circle
    };
    reason why = reason::saturated; ///< which of the two
    std::vector<stalled_thread>
        threads; ///< all of them; if deadlocked, those in the circle, each waiting for the next
    std::uint64_t tasks_pending = 0; ///< queued or running

    /// As text, a line for each thread.
    [[nodiscard]] std::string text() const;
};

} // namespace ekiden::inline EKIDEN_ABI
