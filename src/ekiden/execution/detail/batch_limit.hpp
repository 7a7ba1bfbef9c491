/// When something that runs many tasks in a row lets others through: after 64 of them, or after 100 us.
///
/// Part: execution. Used by: strands, lanes, loops.
#pragma once

#include <ekiden/context/simulated.hpp>
#include <ekiden/sys/clock.hpp>

#include <algorithm>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// One batch. The clock costs more than a short task: where tasks have been short it is read after the 1st,
/// 4th, 16th, 32nd and 48th; where they are long, after each. So a batch outlasts its 100 us by the
/// length of one task, or of up to 16 that have suddenly become longer than those before.
class batch_limit {
public:
    static constexpr std::uint32_t most_tasks = 64;
    static constexpr std::uint64_t most_ns = 100'000;

    /// `tasks_are_long`: what are_long() said at the end of the batch before; true if there was none.
    explicit batch_limit(bool tasks_are_long) noexcept : are_long_(tasks_are_long) {}

    /// After each task: whether another one would belong to this batch. `is_last`: as far as can be seen
    /// there is none, so the clock need not be read.
    [[nodiscard]] bool goes_on(bool is_last = false) noexcept {
        if (++run_ < next_look_) return true;
        return is_last ? run_ < most_tasks : look();
    }

    /// How many tasks were counted.
    [[nodiscard]] std::uint32_t count() const noexcept { return run_; }
    [[nodiscard]] bool are_long() const noexcept { return are_long_; }

private:
    [[nodiscard]] bool look() noexcept {
        // In a simulation others may come after each task: which one does is chosen there.
        if (run_ >= most_tasks || simulation_here() != nullptr) return false;
        const std::uint64_t now = sys::now_ns();
        if (start_ == 0) { // the length of the first one is not known, and belongs to the batch's grace
            start_ = now;
            first_ = run_;
            next_look_ = std::min(run_ + (are_long_ ? 1 : 3), most_tasks);
            return true;
        }
        const std::uint64_t spent = now - start_;
        if (spent >= most_ns) {
            are_long_ = true;
            return false;
        }
        // As many as fit into the rest of the time, by what those so far have taken.
        const std::uint64_t each = spent / (run_ - first_) + 1;
        const std::uint64_t fit = (most_ns - spent) / each;
        are_long_ = each > most_ns / most_tasks;
        const std::uint64_t step = std::min<std::uint64_t>(run_ * 3, step_limit);
        next_look_ = run_ + static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, 1, step));
        next_look_ = std::min(next_look_, most_tasks);
        return true;
    }

    static constexpr std::uint64_t step_limit = 16;

    std::uint64_t start_ = 0; // the first look, after so many tasks:
    std::uint32_t first_ = 0;
    std::uint32_t run_ = 0;
    std::uint32_t next_look_ = 1;
    bool are_long_;
};

} // namespace ekiden::inline EKIDEN_ABI
