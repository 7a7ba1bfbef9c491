/// Counts tasks that have been added and have not ended, and waits until none is left.
///
/// Part: fork. Used by: task_group.
#pragma once

#include <ekiden/future/completion.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>
#include <optional>
#include <stop_token>

namespace ekiden::inline EKIDEN_ABI::detail {

/// A counter of tasks. Each add() is followed by one end().
///
/// Thread safety: any thread may call add() and end() at any time. One thread at a time calls wait().
/// Ordering: everything before the end() of a task happens before the return of the wait() that it ends.
/// Lifetime: a thread whose wait() has returned wait_result::ended may destroy the counter.
///
/// bits of state_   meaning                       set by    cleared by
/// 0 waited         a thread waits until no       wait      the end() that leaves none, or withdraw()
///                  task is left
/// 1..63            number of tasks               add       end
///
/// The thread that clears `waited` has the right to complete the waiter: exactly one does.
class task_count {
public:
    enum class wait_result : std::uint8_t {
        ended,      ///< no task was left
        gave_up,    ///< the limit was reached first
        left_behind ///< this is the child of a fork(), and the tasks are the parent's
    };

    // Relaxed: a thread that adds a task has been counted itself, or waits later.
    void add() noexcept { state_.fetch_add(one, sys::relaxed); }

    void end() noexcept {
        std::uint64_t state = state_.load(sys::relaxed);
        bool is_last = false;
        std::uint64_t next = 0;
        do {
            // The last task clears `waited` in the same step. In two steps, a task that is added and ends
            // between them would complete the waiter too. The second one would use a destroyed waiter.
            is_last = state == (one | waited);
            next = is_last && !EKIDEN_MUTANT(group_ends_twice) ? 0 : state - one;
            // [TG1] release: the task's effects; acquire: waiter_, and what the other tasks did. Pairs with
            // itself and with wait().
        } while (!state_.compare_exchange_weak(state, next, sys::acq_rel, sys::relaxed));
        if (is_last) waiter_.read()->complete(1);
    }

    /// Returns whether no task is left. A hint.
    [[nodiscard]] bool is_empty() const noexcept { return state_.load(sys::relaxed) == 0; }

    /// Waits until no task is left, or until `limit` is reached. It waits for tasks whose add() has returned
    /// before this call, and for those that they add. A task that another thread adds meanwhile is waited for
    /// if it is there when the last of the others ends.
    [[nodiscard]] wait_result wait(const wait_limit& limit) noexcept {
        waiter here(born_);
        waiter_.write(&here);
        std::uint64_t state = state_.load(sys::acquire); // [TG1] what the tasks did
        if (state == 0) return wait_result::ended;
        if (here.is_left_behind()) return wait_result::left_behind;
        if (!limit.is_endless() && limit.is_reached()) return wait_result::gave_up;
        // [TG1] release: waiter_; pairs with the acquires in end() and withdraw(). [TG1] acquire on failure:
        // what the tasks did.
        while (!state_.compare_exchange_weak(state, state | waited, sys::release, sys::acquire)) {
            if (state == 0) return wait_result::ended;
        }
        // Its destructor waits for an interrupt() that is under way.
        std::optional<std::stop_callback<interrupter>> on_stop;
        if (limit.stop().stop_possible()) on_stop.emplace(limit.stop(), interrupter{this});
        return sleep(here, limit);
    }

    /// Ends the wait() that is under way, if the last task has not ended it: wait() gives up. Any thread,
    /// while wait() runs.
    void interrupt() noexcept {
        if (withdraw()) waiter_.read()->give_up();
    }

private:
    static constexpr std::uint64_t waited = 1;
    static constexpr std::uint64_t one = 2;

    /// What wait() sleeps on. It lies on the stack of the waiting thread.
    class waiter final : public completion {
    public:
        explicit waiter(std::uint16_t born) noexcept : completion(&answer, 2, born) {}

        void give_up() noexcept {
            gave_up_.write(true);
            complete(1);
        }
        /// Returns how the wait ended. Once it is_ready().
        [[nodiscard]] wait_result result() const noexcept {
            return gave_up_.read() ? wait_result::gave_up : wait_result::ended;
        }

    private:
        static const char* answer(task*, task_request request) {
            return request == task_request::describe ? "a task_group" : nullptr;
        }

        sys::cell<bool> gave_up_{false};
    };

    struct interrupter {
        task_count* tasks;
        void operator()() const noexcept { tasks->interrupt(); }
    };

    [[nodiscard]] wait_result sleep(waiter& here, const wait_limit& limit) noexcept {
        if (!limit.is_timed()) {
            (void)here.wait();
            return here.result();
        }
        while (!here.wait_until(limit.deadline())) {
            if (!limit.is_reached()) continue; // another clock's deadline
            if (withdraw()) return wait_result::gave_up;
            // Another thread has cleared `waited` and is about to complete `here`.
            if (!EKIDEN_MUTANT(group_leaves_the_last)) (void)here.block(nullptr);
            break;
        }
        return here.result();
    }

    /// Clears `waited`. Returns false if another thread has cleared it: that one completes the waiter.
    [[nodiscard]] bool withdraw() noexcept {
        std::uint64_t state = state_.load(sys::relaxed);
        while ((state & waited) != 0) {
            const std::uint64_t next = EKIDEN_MUTANT(group_withdraws_nothing) ? state : state & ~waited;
            // [TG1] acquire: waiter_, for interrupt(); pairs with the release in wait().
            if (state_.compare_exchange_weak(state, next, sys::acquire, sys::relaxed)) return true;
        }
        return false;
    }

    const std::uint16_t born_ = sys::fork_generation();
    sys::cell<waiter*> waiter_{nullptr}; // written before `waited` is set
    alignas(sys::isolation) sys::atomic<std::uint64_t> state_{0};
};

} // namespace ekiden::inline EKIDEN_ABI::detail
