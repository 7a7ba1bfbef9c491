/// A scope for coroutines that run concurrently. The owner of a scope waits until all coroutines of the scope
/// have ended.
///
/// Part: async. Used by: programs. Modeled on the nurseries of Trio, a Python library. The protocol: stop.md.
#pragma once

#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/detail/group.hpp>
#include <ekiden/async/detail/root_coroutine.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/async/environment.hpp>
#include <ekiden/async/get_environment.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/future/operation_canceled.hpp>
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
struct scope_access;

/// A ticket represents a child in the list of a scope. A ticket is made before the child begins. The ticket
/// is destroyed after all other objects in the child's frame.
class scope_ticket {
public:
    /// Constructs the ticket of a child that admit() has counted. Sets `*where` to the address of the ticket.
    /// A move of the ticket updates `*where`.
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
    /// Records that the child has run to its end and was not dropped.
    void settle() noexcept { is_settled_ = true; }

private:
    friend class scope_state;

    scope_state* scope_; // null: moved from
    scope_ticket** const where_;
    bool is_settled_ = false;
    root_coroutine::promise_type* promise_ = nullptr; // null until the ticket is in the list
    scope_ticket* next_ = nullptr;
    scope_ticket* prev_ = nullptr;
};

/// The awaiter of async_scope::wait(). The awaiter lies in the frame of the coroutine that waits.
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
    scope_wait_awaiter* next_ = nullptr; // the next awaiter in the list of the scope
    bool keeps_scope_ = false;           // true from begin() until the coroutine resumes or is destroyed
};

/// The state that a scope shares with its children. Thread-safe.
class scope_state {
public:
    /// Create the state with recycler::create(), because the last user destroys it with recycler::destroy().
    explicit scope_state(const environment& outer);
    scope_state(const scope_state&) = delete;
    scope_state& operator=(const scope_state&) = delete;

    [[nodiscard]] stop_state& stop() noexcept { return stop_; }
    [[nodiscard]] std::size_t size() noexcept;

    /// Counts one more child and returns true. Returns false if the scope is closed.
    [[nodiscard]] bool admit() noexcept;
    /// Starts a child, whose frame exists already, on the executor of the scope. If the executor throws,
    /// begin() throws the same exception, and the child has ended.
    void begin(scope_ticket& ticket, root_coroutine::promise_type& fresh);
    /// Called when a child exits by an exception. Stores the exception and stops the other children. Ignores
    /// operation_canceled after a stop.
    void failed(std::exception_ptr error) noexcept;
    /// Ends a child that admit() has counted, and that is no coroutine.
    void end_guest() noexcept;
    void close() noexcept;
    /// Called by the destructor of the scope.
    void leave() noexcept;

private:
    friend class scope_ticket;
    friend class scope_wait_awaiter;

    void child_ended(scope_ticket& ticket) noexcept;
    void uncount(std::unique_lock<sys::slow_lock> guard) noexcept;
    void end_of_use(std::unique_lock<sys::slow_lock> guard) noexcept;
    void destroy_children(const execution_context& ending) noexcept;
    void unlink(scope_ticket& ticket) noexcept;

    environment env_;
    stop_state stop_;
    sys::slow_lock lock_;
    bool is_closed_ : 1 = false;    // admit() returns false
    bool is_waited_for_ : 1 = true; // no child has run to its end since the last wait()
    bool is_alone_ : 1 = false;     // the async_scope has been destroyed
    std::size_t count_ = 0;         // the number of children
    std::size_t waiters_ = 0;       // the number of awaiters that use this state
    scope_ticket* first_ = nullptr;
    scope_wait_awaiter* waiting_ = nullptr;
    std::exception_ptr error_;
    error_list others_; // the exceptions that were thrown after error_
};

/// Stores the ticket and the callable of a child. The callable is destroyed before the ticket.
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
        static_cast<void>(co_await detail::source_of(child.source));
    } catch (...) {
        child.ticket.scope().failed(std::current_exception());
    }
    child.ticket.settle();
}

} // namespace detail

/// A group of coroutines that run concurrently. The function wait() waits for all coroutines of the group.
///
/// The children run under a copy of the environment that was passed to the constructor. The copy differs only
/// in its stop state, because each scope has a stop state of its own. A stop request for the original
/// environment also stops all children of the scope. The results of the children are discarded.
///
/// If a child exits by an exception, the other children are stopped, and wait() throws the exception. If
/// several children throw, wait() throws the first exception, and suppressed_exceptions() returns the others.
/// After a stop of the scope, an operation_canceled that a child throws is not an error. A child that an
/// executor refuses or drops is treated as if it had thrown operation_canceled.
///
/// Lifetime: the program must await wait() before it destroys a scope that has had children. Otherwise the
/// library prints a message and aborts the program. The function with_scope() awaits wait() automatically.
///
/// The destructor of a context destroys the coroutines of this context. If a destroyed coroutine has a scope
/// in its frame, the scope destroys its children that were spawned on the same context. The scope stops its
/// other children. While a context is destroyed, a child that was spawned on this context must not run on
/// another context. If an executor drops the owner of a scope while the owner's context still exists, the
/// scope stops its children and does not wait for them. A later stop of the owner does not reach the
/// children.
///
/// Thread safety: all members except the destructor may be called concurrently. The destructor may run as
/// soon as one wait() has returned, even if other coroutines are still in wait(). The other coroutines then
/// resume without using the scope. The destructor may run in the thread in which the last child has ended.
class async_scope {
public:
    /// Makes a scope whose children run under a copy of the environment `outer`. Example: `async_scope
    /// s(co_await get_environment());`. Throws std::bad_alloc.
    explicit async_scope(const environment& outer);
    /// Makes a scope whose children run on the executor `where`. A stop of `parent` also stops the children.
    /// `parent` must outlive the scope, and may be null. Throws std::bad_alloc.
    template <executor E>
    explicit async_scope(const E& where, stop_state* parent = nullptr)
        : async_scope(environment(any_executor(where), parent)) {}
    ~async_scope() { state_->leave(); }
    async_scope(const async_scope&) = delete;
    async_scope& operator=(const async_scope&) = delete;

    /// Starts a child on the executor of the scope. The child calls `f()` and awaits the result. If `f` is a
    /// coroutine, the child awaits `f` itself. Returns true.
    ///
    /// The child stores `f`, and destroys `f` before the child counts as ended. Returns false and has no
    /// effect if the scope is closed. If the executor accepts no more tasks, the child ends at once, and
    /// wait() throws operation_canceled. If the executor throws an exception, spawn() throws the same
    /// exception, and wait() throws operation_canceled. If spawn() cannot store `f`, no child begins. In this
    /// case, spawn() throws std::bad_alloc, or the exception that copying `f` has thrown.
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

    /// `co_await scope.wait()`: waits until the scope has no children, and then closes the scope. Until the
    /// scope is closed, children may spawn further children.
    ///
    /// Throws the first exception that a child has thrown. The function suppressed_exceptions() returns the
    /// exceptions of the other children. A later wait() does not throw the same exception again. A stop of
    /// the waiting coroutine stops the children, but the wait continues until all children have ended. Throws
    /// std::system_error (resource_deadlock_would_occur) if the waiting coroutine is a child of this scope,
    /// or if a child of this scope awaits the waiting coroutine.
    [[nodiscard]] detail::scope_wait_awaiter wait() noexcept { return detail::scope_wait_awaiter(*state_); }

    /// Closes the scope. After close(), spawn() returns false.
    void close() noexcept { state_->close(); }
    /// Requests a stop of all children, including children that are spawned later. Returns false if a stop
    /// was requested before.
    bool request_stop() noexcept { return state_->stop().request_stop(); }
    /// Returns whether a stop of the children has been requested.
    [[nodiscard]] bool stop_requested() const noexcept { return state_->stop().stop_requested(); }
    /// Returns the current number of children.
    [[nodiscard]] std::size_t size() const noexcept { return state_->size(); }

private:
    friend struct detail::scope_access;
    detail::scope_state* const state_;
};

namespace detail {

/// Access to the state of a scope, for the adapter of senders.
struct scope_access {
    [[nodiscard]] static scope_state& state(async_scope& scope) noexcept { return *scope.state_; }
};

template <class F>
using scope_body = std::invoke_result_t<F&, async_scope&>;
template <class F>
using scope_result = decltype(std::declval<awaiter_t<scope_body<F>>&>().await_resume());

} // namespace detail

/// `co_await with_scope(f)`: makes a scope, and awaits `f(scope)` as the first child of this scope.
/// Afterwards with_scope() waits for all children, even if `f` throws. All children have ended when
/// with_scope() returns or throws.
///
/// Returns the result of `f`. If `f` or a child exits by an exception, all other children are stopped, and
/// with_scope() throws the exception. The function suppressed_exceptions() returns the exceptions of the
/// other children. Throws operation_canceled if a stop has ended `f`. Stores the callable `f` until
/// with_scope() has ended.
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
    static_cast<void>(scope.spawn(body)); // returns true, because the scope is open
    co_await scope.wait();
    if (!has_ended) throw operation_canceled("with_scope: it was stopped");
    co_return result.take();
}

} // namespace ekiden::inline EKIDEN_ABI
