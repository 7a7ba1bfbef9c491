/// A task that resumes a waiting coroutine on its executor.
///
/// Part: async. Used by: awaiters.
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

/// Satisfied by the promise of a stand_in_frame, which represents the promise of another coroutine.
template <class Promise>
concept stand_in_promise = requires(Promise& p) { p.stands_for(); };

} // namespace detail

/// An object in an awaiter, which is destroyed with the frame. A suspension is a task, so resume() does not
/// allocate.
///
/// If the executor drops the task, the chain of coroutines is destroyed once, beginning with this coroutine.
/// If the executor refuses the task, no frame is destroyed inside resume(), because the caller may hold a
/// lock. After a refusal, the context of the root runs a task that destroys the chain. If this context also
/// refuses the task, a thread in sync_wait() or the end of the context destroys the chain. If a coroutine of
/// another library awaits the chain, that coroutine stays suspended.
class suspension : public task {
public:
    suspension() noexcept : task(&answer) {}

    /// Sets the coroutine to resume. Called in await_suspend(), before the awaiter is published. The
    /// environment of a coroutine of another library is default_environment().
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

    /// Posts the coroutine to its executor, and never runs it inline. Any thread may call resume(), even
    /// while it holds a lock. Call resume() exactly once for each bind(). The caller must not access the
    /// frame afterwards. The call of resume() happens before the coroutine resumes.
    void resume(task_order order = task_order::usual) noexcept;

    /// Posts the coroutine to another executor.
    void resume_at(const any_executor& where, task_order order = task_order::usual) noexcept;

    /// Destroys the coroutine as if its executor had refused it. An await_suspend() may call this instead of
    /// publishing the awaiter.
    void give_up() noexcept;

private:
    friend class coroutine_promise;
    static const char* answer(task* self, task_request request);
    void set(std::coroutine_handle<> waiting, coroutine_promise* promise) noexcept {
        trace::detail::moment(trace::kind::suspended, waiting.address());
        waiting_ = waiting;
        promise_ = promise;
    }

    std::coroutine_handle<> waiting_;      // if null, running the task destroys the chain
    coroutine_promise* promise_ = nullptr; // null for a coroutine of another library
};

/// Satisfied by an awaiter that resumes every coroutine by a suspension, or that never suspends. Such an
/// awaiter has this member:
///   static constexpr bool comes_home = true;
///
/// Every other awaiter is wrapped like an awaiter of another library. The wrapper needs a few more words in
/// the frame.
template <class Awaiter>
concept homing_awaiter = requires { requires std::remove_cvref_t<Awaiter>::comes_home; };

} // namespace ekiden::inline EKIDEN_ABI
