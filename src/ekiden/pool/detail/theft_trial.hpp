/// Decides whether an idle worker leaves the only task of a deque to the owner of the deque.
///
/// Part: pool. Used by: worker. Private.
///
/// Suppose that two coroutines resume each other in turn. Each of them is the only task of a deque, and a
/// theft takes more time than several such tasks. So in a trial, the worker stays away from the deque for a
/// short time, and counts the only tasks that the owner takes meanwhile. If they are short, the worker stays
/// away again, and longer. Otherwise the worker steals, and begins the next trial after many thefts.
#pragma once

#include <ekiden/queue/chase_lev_deque.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <algorithm>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The trials of one worker. A worker has at most one trial at a time. Used only by the thread of the worker.
class theft_trial {
public:
    /// Returns whether the worker must leave `deque` alone now.
    [[nodiscard]] bool stays_away_from(const chase_lev_deque<task>& deque) const noexcept {
        return left_ == &deque && (is_on() || EKIDEN_MUTANT(trial_never_ends));
    }
    /// Returns whether the worker stays away from any deque now.
    [[nodiscard]] bool is_on() const noexcept { return left_ != nullptr && sys::now_ns() < until_ns_; }

    /// Called before an idle worker steals from `deque`. Returns whether the worker must leave the deque
    /// alone.
    [[nodiscard]] bool leaves(const chase_lev_deque<task>& deque) noexcept {
        const bool was_left = left_ == &deque;
        if (was_left) left_ = nullptr;
        const std::size_t size = deque.size();
        if (size > 1 || (size == 0 && !was_left)) return false;
        const std::uint64_t index = deque.oldest_index();
        if (!was_left) {
            if (left_ != nullptr) return false; // a second trial would end the first one
            if (thefts_left_ != 0) return --thefts_left_, false;
            length_ns_ = shortest_ns;
        } else if ((index - index_) * short_task_ns >= length_ns_) {
            length_ns_ = std::min(2 * length_ns_, longest_ns);
        } else {
            thefts_left_ = thefts_between;
            return false;
        }
        left_ = &deque;
        index_ = index;
        until_ns_ = sys::now_ns() + length_ns_;
        return true;
    }

private:
    static constexpr std::uint64_t short_task_ns = 200;
    static constexpr std::uint64_t shortest_ns = 1'000;
    static constexpr std::uint64_t longest_ns = 8'000;
    static constexpr std::uint32_t thefts_between = 128; // the number of thefts between two trials

    const chase_lev_deque<task>* left_ = nullptr; // the deque that the worker leaves alone, or null
    std::uint64_t index_ = 0;                     // the index of the oldest task when `length_ns_` began
    std::uint64_t length_ns_ = 0;
    std::uint64_t until_ns_ = 0;
    std::uint32_t thefts_left_ = 0; // how many only tasks the worker steals before the next trial
};

} // namespace ekiden::inline EKIDEN_ABI
