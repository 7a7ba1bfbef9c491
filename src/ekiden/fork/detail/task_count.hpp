/// A counter of the tasks that were added and have not ended. A thread can wait until no task is left.
///
/// Part: fork. Used by: task_group.
#pragma once

#include <ekiden/future/detail/completion.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::detail {

/// A counter of tasks. Each add() is followed by one end().
///
/// Thread safety: any thread may call add() and end() at any time. One thread at a time calls wait().
/// Ordering: everything before the end() of a task happens before the return of a wait() that waited for the
/// task.
/// Lifetime: a thread whose wait() has returned wait_result::ended may destroy the counter.
///
/// bits of state_  meaning                            changes
/// 0 (waited)      a thread waits for the last task   set by wait(); cleared by the last end(), or withdraw()
/// 1..63           the number of tasks                incremented by add(); decremented by end()
///
/// Either the last end() clears `waited` and completes the waiter, or the waiter clears `waited` and gives
/// up.
class task_count {
public:
    enum class wait_result : std::uint8_t {
        ended,      ///< no task was left
        gave_up,    ///< the limit was reached before the last task ended
        left_behind ///< this process is the child of a fork(), and the tasks belong to the parent process
    };

    // Relaxed is enough, because the caller is a task that is itself counted, or a thread that calls wait()
    // later.
    void add() noexcept { state_.fetch_add(one, sys::relaxed); }

    void end() noexcept {
        std::uint64_t state = state_.load(sys::relaxed);
        bool is_last = false;
        std::uint64_t next = 0;
        do {
            // The last task decrements the count and clears `waited` in one atomic step. With two steps,
            // another task could be added and end in between, and both tasks would complete the waiter. The
            // waiter could be destroyed before the second completion.
            is_last = state == (one | waited);
            next = is_last && !EKIDEN_MUTANT(group_ends_twice) ? 0 : state - one;
            // [TG1] Release: publishes the effects of this task. Acquire: makes waiter_ and the effects of
            // the other tasks visible. Pairs with the end() of the other tasks, and with wait().
        } while (!state_.compare_exchange_weak(state, next, sys::acq_rel, sys::relaxed));
        if (is_last) waiter_.read()->complete(1);
    }

    /// Returns whether no task is left. The answer is a hint.
    [[nodiscard]] bool is_empty() const noexcept { return state_.load(sys::relaxed) == 0; }

    /// Waits until no task is left, or until `limit` is reached. Waits for tasks whose add() has returned
    /// before this call, and for tasks that these tasks add. If another thread adds a task before the last of
    /// these tasks ends, wait() also waits for the added task.
    [[nodiscard]] wait_result wait(const wait_limit& limit) noexcept { return wait(limit, born_); }
    /// Like the function above. The tasks belong to the process with the fork generation `added_in`.
    [[nodiscard]] wait_result wait(const wait_limit& limit, std::uint16_t added_in) noexcept {
        waiter here(added_in);
        waiter_.write(&here);
        std::uint64_t state = state_.load(sys::acquire); // [TG1] Acquire: makes the tasks' effects visible.
        if (state == 0) return wait_result::ended;
        if (here.is_left_behind()) return wait_result::left_behind;
        // [TG1] Release: publishes waiter_. Pairs with the acquire in end(). Acquire on failure: makes the
        // tasks' effects visible.
        while (!state_.compare_exchange_weak(state, state | waited, sys::release, sys::acquire)) {
            if (state == 0) return wait_result::ended;
        }
        if (here.wait(limit)) return wait_result::ended;
        if (withdraw()) return wait_result::gave_up;
        // The last task has cleared `waited` and will complete `here` soon.
        if (!EKIDEN_MUTANT(group_leaves_the_last)) (void)here.block(nullptr);
        return wait_result::ended;
    }

private:
    static constexpr std::uint64_t waited = 1;
    static constexpr std::uint64_t one = 2;

    /// The completion on which wait() sleeps. The completion lies on the stack of the waiting thread.
    class waiter final : public completion {
    public:
        explicit waiter(std::uint16_t born) noexcept : completion(&answer, 2, born) {}

    private:
        static const char* answer(task*, task_request request) {
            return request == task_request::describe ? "a task_group" : nullptr;
        }
    };

    /// Clears `waited`. Returns false if the last task has already cleared `waited`.
    [[nodiscard]] bool withdraw() noexcept {
        std::uint64_t state = state_.load(sys::relaxed);
        while ((state & waited) != 0) {
            const std::uint64_t next = EKIDEN_MUTANT(group_withdraws_nothing) ? state : state & ~waited;
            // Relaxed is enough, because a wait that gives up publishes nothing.
            if (state_.compare_exchange_weak(state, next, sys::relaxed, sys::relaxed)) return true;
        }
        return false;
    }

    const std::uint16_t born_ = sys::fork_generation();
    sys::cell<waiter*> waiter_{nullptr}; // the waiting thread sets this pointer before it sets `waited`
    alignas(sys::isolation) sys::atomic<std::uint64_t> state_{0};
};

} // namespace ekiden::inline EKIDEN_ABI::detail
