/// The way home of a coroutine that waits for something.
///
/// Part: async. Used by: every awaiter that really suspends: locks, buffers, timers, stops.
#pragma once

#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/async/environment.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/queue/task.hpp>

#include <concepts>
#include <coroutine>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// A promise that stands for another one, behind which the coroutine is: see foreign_awaiter.
template <class Promise>
concept stand_in_promise = requires(Promise& p) { p.stands_for(); };

} // namespace detail

/// Lies in the awaiter. Is a task, so going home allocates nothing. Ends with the frame that it lies in.
///
/// If the executor drops it, the chain of coroutines is destroyed, this one first, once. If the executor
/// refuses it, that does not happen inside of resume(), where a lock may be held: the context of the root
/// runs it as a task, or, if that context takes no more either, a thread in sync_wait() or the end of that
/// context does it. A coroutine of another library that waits at the end of the chain stays suspended.
class suspension : public task {
public:
    suspension() noexcept : task(&answer) {}

    /// In await_suspend(), before the awaiter is published anywhere. The promise is one of ours, or any other
    /// one: that works under default_environment().
    template <class Promise>
    void bind(std::coroutine_handle<Promise> waiting) noexcept {
        if constexpr (std::is_void_v<Promise>) {
            set(waiting, nullptr);
        } else if constexpr (std::derived_from<Promise, coroutine_promise>) {
            set(waiting, &waiting.promise());
        } else if constexpr (detail::stand_in_promise<Promise>) {
            set(waiting.promise().stands_for(), waiting.promise().stands_for_promise());
        } else {
            set(waiting, nullptr);
        }
    }

    [[nodiscard]] const environment& env() const noexcept {
        return promise_ != nullptr ? promise_->env() : default_environment();
    }

    /// Posts the coroutine to its executor, never runs it inline. Any thread, also under a lock, once for
    /// each bind(). The caller's last touch of the frame. What was done before it is visible to the
    /// coroutine.
    void resume(task_order order = task_order::usual) noexcept;

    /// The same, but elsewhere than home.
    void resume_at(const any_executor& where, task_order order = task_order::usual) noexcept;

    /// In await_suspend(), instead of publishing the awaiter: nothing will resume the coroutine. As if its
    /// executor had refused it.
    void give_up() noexcept;

private:
    friend class coroutine_promise;
    static const char* answer(task* self, task_request request);
    void set(std::coroutine_handle<> waiting, coroutine_promise* promise) noexcept {
        trace::detail::moment(trace::kind::suspended, waiting.address());
        waiting_ = waiting;
        promise_ = promise;
    }

    std::coroutine_handle<> waiting_;      // null: given up, running it ends the chain
    coroutine_promise* promise_ = nullptr; // null: another library's
};

/// An awaiter that brings every coroutine home by a suspension, or never suspends, may say so with a member
///   static constexpr bool comes_home = true;
/// It is awaited as it is then. Any other awaiter is taken for another library's, which costs some words.
template <class Awaiter>
concept homing_awaiter = requires { requires std::remove_cvref_t<Awaiter>::comes_home; };

} // namespace ekiden::inline EKIDEN_ABI
