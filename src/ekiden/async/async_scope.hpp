/// Coroutines that run beside the coroutine that has spawned them, and end before it continues.
///
/// Part: async. Used by: programs. Modeled on the nurseries of Trio. The protocol: stop.md.
#pragma once

#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/detail/group.hpp>
#include <ekiden/async/detail/root_coroutine.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/async/environment.hpp>
#include <ekiden/async/get_environment.hpp>
#include <ekiden/async/operation_canceled.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/sys/lock.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

class scope_state;

/// A child of a scope, from before it begins until only its memory is left. It is destroyed last in the
/// child's frame.
class scope_ticket {
public:
    /// Constructs the ticket of an admitted child. `*where` points to the ticket, also after moves.
    scope_ticket(scope_state& scope, scope_ticket** where) noexcept : scope_(&scope), where_(where) {
        *where = this;
    }
    scope_ticket(scope_ticket&& other) noexcept
        : scope_(std::exchange(other.scope_, nullptr)), where_(other.where_) {
        *where_ = this;
    }
    scope_ticket& operator=(scope_ticket&&) = delete;
    ~scope_ticket();

    [[nodiscard]] scope_state& scope() const noexcept { return *scope_; }
    /// The child has ended without being dropped.
    void settle() noexcept { is_settled_ = true; }

private:
    friend class scope_state;

    scope_state* scope_; // null: moved from
    scope_ticket** const where_;
    bool is_settled_ = false;
    root_coroutine::promise_type* promise_ = nullptr; // null: not in the list yet
    scope_ticket* next_ = nullptr;
    scope_ticket* prev_ = nullptr;
};

/// The awaiter of async_scope::wait(). Lies in the frame of the coroutine that waits.
class [[nodiscard]] scope_wait_awaiter {
public:
    static constexpr bool comes_home = true;

    explicit scope_wait_awaiter(scope_state& scope) noexcept : scope_(scope) {}
    scope_wait_awaiter(const scope_wait_awaiter&) = delete;
    scope_wait_awaiter& operator=(const scope_wait_awaiter&) = delete;
    ~scope_wait_awaiter();

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> waiting) {
        home_.bind(waiting);
        if constexpr (std::derived_from<Promise, coroutine_promise>) refuse_child(waiting.promise());
        return begin();
    }
    void await_resume();

private:
    friend class scope_state;

    void refuse_child(coroutine_promise& asking) const;
    [[nodiscard]] bool begin() noexcept;

    scope_state& scope_;
    suspension home_;
    scope_wait_awaiter* next_ = nullptr; // in the scope's list
    bool keeps_scope_ = false;           // from begin() until the coroutine has resumed, or is destroyed
};

/// What a scope shares with its children. Thread-safe.
class scope_state {
public:
    /// The state lies in recycled memory, which it returns itself.
    explicit scope_state(const environment& outer);
    scope_state(const scope_state&) = delete;
    scope_state& operator=(const scope_state&) = delete;

    [[nodiscard]] stop_state& stop() noexcept { return stop_; }
    [[nodiscard]] std::size_t size() noexcept;

    /// Counts one more child. Returns false if the scope is closed.
    [[nodiscard]] bool admit() noexcept;
    /// Starts the child, whose frame has been made, on the executor. Throws like the executor; then the child
    /// has ended.
    void begin(scope_ticket& ticket, root_coroutine::promise_type& fresh);
    /// An exception has left a child.
    void failed(std::exception_ptr error) noexcept;
    void close() noexcept;
    /// The scope is destroyed.
    void leave() noexcept;

private:
    friend class scope_ticket;
    friend class scope_wait_awaiter;

    void child_ended(scope_ticket& ticket) noexcept;
    void end_of_use(std::unique_lock<sys::slow_lock> guard) noexcept;
    void destroy_children(const coroutine_service& ending) noexcept;
    void unlink(scope_ticket& ticket) noexcept;

    environment env_;
    stop_state stop_;
    sys::slow_lock lock_;
    bool is_closed_ : 1 = false;    // no more children are admitted
    bool is_waited_for_ : 1 = true; // a wait has seen every admitted child end
    bool is_alone_ : 1 = false;     // the scope was destroyed before its children
    std::size_t count_ = 0;         // children
    std::size_t waiters_ = 0;       // awaiters of wait() that use this
    scope_ticket* first_ = nullptr;
    scope_wait_awaiter* waiting_ = nullptr;
    std::exception_ptr error_;
    error_list others_; // exceptions after error_
};

/// The callable is destroyed before the ticket.
template <class F>
struct scope_child {
    template <class G>
    scope_child(scope_ticket&& own, G&& f) : ticket(std::move(own)), source(std::forward<G>(f)) {}

    scope_ticket ticket;
    F source;
};

template <class F>
root_coroutine run_child(scope_child<F> child) {
    try {
        static_cast<void>(co_await source_of(child.source));
    } catch (...) {
        child.ticket.scope().failed(std::current_exception());
    }
    child.ticket.settle();
}

} // namespace detail

/// A group of coroutines that run beside each other. A coroutine waits for all of them with wait().
///
/// The children's environment is that of the scope, with a stop of its own, which is linked to the stop from
/// outside. Results are not kept.
///
/// If an exception leaves a child, the other children are stopped, and wait() throws the first exception;
/// suppressed_exceptions() has the others. An exception that only says operation_canceled after a stop does
/// not count. An executor that refuses or drops a child counts as the exception operation_canceled.
///
/// Lifetime: a scope that has had children must be waited for before it is destroyed; otherwise the program
/// ends with a message. with_scope() does it. A scope in the frame of a coroutine that is destroyed with its
/// context takes its children along, so they must not run on another context then. If a coroutine's executor
/// drops it while the context continues, the children of its scope are stopped and left alone: a later stop
/// of the owner does not reach them.
///
/// Thread safety: all members may be called concurrently, except the destructor. The destructor may be called
/// as soon as one wait() has returned, also by the thread in which the last child has ended. Other coroutines
/// in wait() resume as well, without the scope.
class async_scope {
public:
    /// Makes a scope whose children run under a copy of `outer`: `async_scope s(co_await
    /// get_environment());`. Throws std::bad_alloc.
    explicit async_scope(const environment& outer);
    /// Makes a scope whose children run on `where` and are stopped with `parent`, which must outlive the
    /// scope. Null means no parent. Throws std::bad_alloc.
    template <executor E>
    explicit async_scope(const E& where, stop_state* parent = nullptr)
        : async_scope(environment(any_executor(where), parent)) {}
    ~async_scope() { state_->leave(); }
    async_scope(const async_scope&) = delete;
    async_scope& operator=(const async_scope&) = delete;

    /// Starts a child: calls `f()` on the executor and awaits what it returns, or awaits `f` if it is a
    /// coroutine.
    ///
    /// The callable is kept as long as its coroutine, and destroyed before the child counts as ended. Returns
    /// false if the scope is closed; then nothing has happened. If the executor takes no more, the child has
    /// ended at once, and wait() throws operation_canceled. If the executor throws, spawn() throws the same,
    /// and wait() throws operation_canceled. Throws std::bad_alloc, and what copying `f` throws; then nothing
    /// has begun.
    template <class F>
        requires detail::group_source<std::decay_t<F>>
    [[nodiscard]] bool spawn(F&& f) {
        if (!state_->admit()) return false;
        detail::scope_ticket* ticket = nullptr;
        auto& fresh = detail::run_child(detail::scope_child<std::decay_t<F>>(
                                            detail::scope_ticket(*state_, &ticket), std::forward<F>(f)))
                          .promise();
        state_->begin(*ticket, fresh);
        return true;
    }

    /// `co_await scope.wait()`: waits until there is no child, and closes the scope at that moment. Children
    /// may spawn others until then.
    ///
    /// Throws the first exception that has left a child, once; suppressed_exceptions() has the others. A stop
    /// of the waiting coroutine does not end the wait: it stops the children. Throws std::system_error
    /// (resource_deadlock_would_occur) in a child of this scope, and in what a child awaits.
    [[nodiscard]] detail::scope_wait_awaiter wait() noexcept { return detail::scope_wait_awaiter(*state_); }

    /// Closes the scope: from now on spawn() returns false.
    void close() noexcept { state_->close(); }
    /// Stops the children, also children that are spawned later. Returns false if a stop had been requested.
    bool request_stop() noexcept { return state_->stop().request_stop(); }
    /// Returns whether a stop of the children has been requested.
    [[nodiscard]] bool stop_requested() const noexcept { return state_->stop().stop_requested(); }
    /// Returns the number of children at this moment.
    [[nodiscard]] std::size_t size() const noexcept { return state_->size(); }

private:
    detail::scope_state* const state_;
};

namespace detail {

template <class F>
using scope_body = std::invoke_result_t<F&, async_scope&>;
template <class F>
using scope_result = decltype(std::declval<awaiter_t<scope_body<F>>&>().await_resume());

} // namespace detail

/// `co_await with_scope(f)`: awaits `f(scope)` as the first child of a new scope, and waits for the scope in
/// any case. When it returns, all children have ended.
///
/// Returns the result of `f`. An exception of a child or of `f` stops all the others and is thrown;
/// suppressed_exceptions() has the other exceptions. Throws operation_canceled if a stop has ended `f`. Keeps
/// the callable.
template <class F>
    requires requires { typename detail::scope_result<F>; }
[[nodiscard]] coroutine<detail::scope_result<F>> with_scope(F f) {
    const environment& env = co_await get_environment();
    async_scope scope(env);
    detail::coroutine_result<detail::scope_result<F>> result;
    bool has_ended = false;
    const auto body = [&]() -> coroutine<> {
        if constexpr (std::is_void_v<detail::scope_result<F>>) {
            co_await std::invoke(f, scope);
        } else {
            detail::scope_result<F> value = co_await std::invoke(f, scope);
            result.set_value(static_cast<detail::scope_result<F>&&>(value));
        }
        has_ended = true;
    };
    static_cast<void>(scope.spawn(body)); // it is open
    co_await scope.wait();
    if (!has_ended) throw operation_canceled("with_scope: it was stopped");
    co_return result.take();
}

} // namespace ekiden::inline EKIDEN_ABI
