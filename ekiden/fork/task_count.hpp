/// How many tasks have been added and have not ended, and the wait for none.
///
/// Part: fork. Used by: task_group.
#pragma once

#include <ekiden/future/completion.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::detail {

/// Any thread may add() at any time, one at a time wait()s; each add() is followed by one end(). What
/// happened before the end() of a task is visible after the wait() that it ended, which may destroy this.
///
/// bits of state_   meaning                    set by    cleared by
/// 0 waited         somebody waits for none    wait      the end() that leaves none
/// 1..63            number of tasks            add       end
class task_count {
public:
    // relaxed: a thread that adds has been counted itself, or waits later, or nobody knows of its task.
    void add() noexcept { state_.fetch_add(one, sys::relaxed); }

    void end() noexcept {
        std::uint64_t state = state_.load(sys::relaxed);
        bool is_last = false;
        std::uint64_t next = 0;
        do {
            // The last one ends the wait in the step in which it leaves. In two steps, a task that comes and
            // goes between them would end the wait too, and of two that do so, the second one finds the
            // waiter and this object gone.
            is_last = state == (one | waited);
            next = is_last && !EKIDEN_MUTANT(group_ends_twice) ? 0 : state - one;
            // [TG1] release: the task's effects; acquire: waiter_, and what the other tasks did. Pairs with
            // itself and with wait().
        } while (!state_.compare_exchange_weak(state, next, sys::acq_rel, sys::relaxed));
        if (is_last) waiter_.read()->complete(1);
    }

    /// Whether there is none now. A hint.
    [[nodiscard]] bool is_empty() const noexcept { return state_.load(sys::relaxed) == 0; }

    /// Returns when there is none: neither of those whose add() has returned before this call, nor of those
    /// that these have added. One that is added meanwhile by others is waited for if it is there when the
    /// last of the rest ends. False in the child of a fork(), if there are tasks: they are the parent's.
    [[nodiscard]] bool wait() noexcept {
        all_ended here(born_);
        waiter_.write(&here);
        std::uint64_t state = state_.load(sys::acquire); // [TG1] what the tasks did
        do {
            if (state == 0) return true;
            // [TG1] release: waiter_; pairs with the acquire in end(). [TG1] acquire on failure, as above.
        } while (!state_.compare_exchange_weak(state, state | waited, sys::release, sys::acquire));
        return here.wait();
    }

private:
    static constexpr std::uint64_t waited = 1;
    static constexpr std::uint64_t one = 2;

    /// What wait() waits for, on its stack.
    class all_ended final : public completion {
    public:
        explicit all_ended(std::uint16_t born) noexcept : completion(&answer, 2, born) {}

    private:
        static const char* answer(task*, task_request request) {
            return request == task_request::describe ? "a task_group" : nullptr;
        }
    };

    const std::uint16_t born_ = sys::fork_generation();
    sys::cell<all_ended*> waiter_{nullptr}; // written before `waited` is set
    alignas(sys::isolation) sys::atomic<std::uint64_t> state_{0};
};

} // namespace ekiden::inline EKIDEN_ABI::detail
