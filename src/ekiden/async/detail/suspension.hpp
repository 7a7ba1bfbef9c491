/// A task that resumes a waiting coroutine on the executor of the coroutine.
///
/// Part: async. Used by: awaiters.
#pragma once

#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/async/environment.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/contract.hpp>

#include <concepts>
#include <coroutine>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// Satisfied by the promise type of stand_in_frame. A stand_in_frame represents a coroutine that awaits an
/// awaiter of another library.
template <class Promise>
concept stand_in_promise = requires(Promise& p) { p.stands_for(); };

} // namespace detail

/// A part of an awaiter. A suspension lies in the coroutine frame, and is destroyed with the frame. A
/// suspension is a task, so resume() does not allocate.
///
/// If the executor drops the task, this coroutine and all coroutines that wait for it are destroyed exactly
/// once. These coroutines form a chain that begins at a root coroutine. If the executor refuses the task, no
/// frame is destroyed inside resume(), because the caller may hold a lock. Instead, the context of the root
/// coroutine runs the task, and this run destroys the chain. If this context refuses the task as well, a
/// thread in sync_wait() or the end of the context destroys the chain. A coroutine of another library that
/// awaits a coroutine of the chain stays suspended.
class suspension : public task {
public:
    suspension() noexcept : task(&answer) {}

    /// Sets the coroutine that resume() will resume. Called in await_suspend(), before another thread can
    /// find the awaiter. A coroutine of another library has the environment default_environment(). Aborts the
    /// program if bind() was called before, because an awaiter contains the state of one await.
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

    /// Posts the coroutine to its executor, and never runs the coroutine inline. Any thread may call
    /// resume(), and may hold a lock during the call. Call resume() exactly once after bind(). After the
    /// call, the caller must not access the frame. The call of resume() happens before the coroutine resumes.
    void resume(task_order order = task_order::usual) noexcept;

    /// Does the same as resume(), but posts the coroutine to the executor `where`.
    void resume_at(const any_executor& where, task_order order = task_order::usual) noexcept;

    /// Destroys the coroutine as if its executor had refused it. An await_suspend() may call give_up()
    /// instead of publishing the awaiter.
    void give_up() noexcept;

private:
    friend class coroutine_promise;
    static const char* answer(task* self, task_request request);
    void set(std::coroutine_handle<> waiting, coroutine_promise* promise) noexcept {
        sys::expects(!waiting_, "co_await: this awaitable has been awaited before; each is awaited once");
        trace::detail::moment(trace::kind::suspended, waiting.address());
        waiting_ = waiting;
        promise_ = promise;
    }

    std::coroutine_handle<> waiting_;      // the coroutine to resume; null after give_up()
    coroutine_promise* promise_ = nullptr; // null for a coroutine of another library
};

/// Satisfied by an awaiter that resumes coroutines only by a suspension, or that never suspends. Such an
/// awaiter has a static constexpr bool member `comes_home` that is true.
///
/// Every other awaiter is wrapped like an awaiter of another library. The wrapper needs a few more words in
/// the frame.
template <class Awaiter>
concept homing_awaiter = requires { requires std::remove_cvref_t<Awaiter>::comes_home; };

} // namespace ekiden::inline EKIDEN_ABI
