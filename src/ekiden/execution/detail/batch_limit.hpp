/// Limits a batch of tasks that run as one task. A batch has at most 64 tasks, and lasts at most about 100
/// us.
///
/// Part: execution. Used by: strands, lanes. Private.
#pragma once

#include <ekiden/context/simulated.hpp>
#include <ekiden/sys/clock.hpp>

#include <algorithm>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The limit of one batch. Reading the clock costs more than a short task. If the tasks are short, the batch
/// reads the clock after tasks 1, 4, 16, 32 and 48. If the tasks are long, the batch reads the clock after
/// each task. So a batch can exceed its time limit by one long task. If tasks become longer during a batch,
/// the batch can exceed its time limit by up to 16 tasks.
class batch_limit {
public:
    static constexpr std::uint32_t most_tasks = 64;
    static constexpr std::uint64_t most_ns = 100'000;

    /// `tasks_are_long` is the result of are_long() after the previous batch. For the first batch, pass true.
    explicit batch_limit(bool tasks_are_long) noexcept : are_long_(tasks_are_long) {}

    /// Counts a task that has run. Returns whether this batch may run another task. `is_last` must be true if
    /// no further task is visible. In this case, the clock is not read.
    [[nodiscard]] bool goes_on(bool is_last = false) noexcept {
        if (++run_ < next_read_) return true;
        return is_last ? run_ < most_tasks : has_time();
    }

    /// Returns the number of counted tasks.
    [[nodiscard]] std::uint32_t count() const noexcept { return run_; }
    /// Returns whether the tasks of this batch are so long that 64 of them would exceed 100 us.
    [[nodiscard]] bool are_long() const noexcept { return are_long_; }

private:
    [[nodiscard]] bool has_time() noexcept {
        // In a simulation, a batch ends after each task, so that the simulation can choose the next task.
        if (run_ >= most_tasks || simulation_here() != nullptr) return false;
        const std::uint64_t now = sys::now_ns();
        if (start_ == 0) {
            start_ = now; // the first task is not timed
        } else {
            const std::uint64_t spent = now - start_;
            are_long_ = spent > run_ * (most_ns / most_tasks);
            if (spent >= most_ns) return false;
        }
        const std::uint32_t step = are_long_ ? 1 : std::min(run_ * 3, longest_step);
        next_read_ = std::min(run_ + step, most_tasks);
        return true;
    }

    static constexpr std::uint32_t longest_step = 16;

    std::uint64_t start_ = 0; // the time at which the clock was first read, or 0 if it has not been read
    std::uint32_t run_ = 0;
    std::uint32_t next_read_ = 1;
    bool are_long_;
};

} // namespace ekiden::inline EKIDEN_ABI
