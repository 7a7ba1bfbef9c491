/// Resumes a waiting coroutine on its executor.
///
/// Part: async. Used by: every awaiter that suspends: locks, buffers, timers, stops.
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

/// A promise that stands for the promise of another coroutine: see stand_in_frame.
template <class Promise>
concept stand_in_promise = requires(Promise& p) { p.stands_for(); };

} // namespace detail

/// Lies in the awaiter, and is destroyed with the frame. It is a task, so resume() allocates nothing.
///
/// If the executor drops the task, the chain of coroutines is destroyed once, this coroutine first. If the
/// executor refuses the task, nothing is destroyed inside resume(), where a lock may be held. Instead, the
/// context of the root runs a task that destroys the chain. If that context refuses the task, too, a thread
/// in sync_wait() or the end of the context destroys the chain. A coroutine of another library at the end of
/// the chain stays suspended.
class suspension : public task {
public:
    suspension() noexcept : task(&answer) {}

    /// Sets the coroutine to resume. Called in await_suspend(), before the awaiter is published. A coroutine
    /// of another library works under default_environment().
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

    /// Posts the coroutine to its executor, and never runs it inline. Any thread may call it, also under a
    /// lock, once for each bind(). The caller must not touch the frame afterwards. The call happens before
    /// the coroutine resumes.
    void resume(task_order order = task_order::usual) noexcept;

    /// Posts the coroutine to another executor.
    void resume_at(const any_executor& where, task_order order = task_order::usual) noexcept;

    /// Ends the coroutine as if its executor had refused it. Called in await_suspend() instead of publishing
    /// the awaiter.
    void give_up() noexcept;

private:
    friend class coroutine_promise;
    static const char* answer(task* self, task_request request);
    void set(std::coroutine_handle<> waiting, coroutine_promise* promise) noexcept {
        trace::detail::moment(trace::kind::suspended, waiting.address());
        waiting_ = waiting;
        promise_ = promise;
    }

    std::coroutine_handle<> waiting_;      // null: given up, running the task destroys the chain
    coroutine_promise* promise_ = nullptr; // null: the coroutine belongs to another library
};

/// An awaiter that resumes every coroutine by a suspension, or never suspends. It says so with a member
///   static constexpr bool comes_home = true;
/// Any other awaiter is wrapped like another library's, which needs some more words in the frame.
template <class Awaiter>
concept homing_awaiter = requires { requires std::remove_cvref_t<Awaiter>::comes_home; };

} // namespace ekiden::inline EKIDEN_ABI
