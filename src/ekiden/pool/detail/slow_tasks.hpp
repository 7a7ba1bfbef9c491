/// Finds the tasks that run for a long time, and long delays in the queues.
///
/// Part: pool. Used by: the watch. Private.
///
/// Tasks do not read a clock. The watch reads the counters of each worker at intervals. A task that is on a
/// worker's stack in two samples has run at least for the time between the samples.
#pragma once

#include <ekiden/pool/detail/worker.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

class scheduler;

/// The samples of one pool. Only the thread of the watch calls the functions.
class slow_tasks {
public:
    /// Throws std::bad_alloc.
    slow_tasks(scheduler& pool, const thread_pool_options& options);

    /// Takes a sample. Calls the handlers of the options for new slow tasks and for new long delays.
    void check() noexcept;

    /// Returns whether a worker has a task on its stack that has not been reported. If so, the watch must
    /// take samples although all workers sleep, because a task that waits for a result also becomes slow.
    [[nodiscard]] bool has_unreported() const noexcept;

private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    /// The task at one level of a worker's stack.
    struct level {
        std::uint64_t number = none; // the number of the task in the last sample
        std::uint64_t since_ns = 0;  // the time of the first sample with this number
        // The number of the last task that was reported. The numbers of a level only grow, so tasks with this
        // number or a lower one are not reported.
        std::uint64_t reported = none;

        [[nodiscard]] bool is_reported(std::uint64_t which) const noexcept {
            return reported != none && which <= reported;
        }
    };
    using stack = std::array<level, worker::most_in_progress>;

    void check_tasks() noexcept;
    void check_delays() noexcept;
    void report(const worker& of, std::size_t at, const worker::task_in_progress& task,
                std::uint64_t since_ns) noexcept;

    scheduler& pool_;
    const thread_pool_options& options_;
    const std::uint64_t slow_ns_;
    const std::size_t first_long_;        // the first bucket of the histograms with delays above the limit
    const std::unique_ptr<stack[]> seen_; // null if the option slow_task_time is 0
    histogram_snapshot delays_;           // in the last sample
};

} // namespace ekiden::inline EKIDEN_ABI
