/// Coroutines that run beside the one that has spawned them, and end before it goes on.
///
/// Part: async. Used by: programs. After the nurseries of Trio. The protocol: stop.md.
#pragma once

#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/environment.hpp>
#include <ekiden/async/get_environment.hpp>
#include <ekiden/async/group.hpp>
#include <ekiden/async/operation_canceled.hpp>
#include <ekiden/async/root_coroutine.hpp>
#include <ekiden/async/stop_state.hpp>
#include <ekiden/async/suspension.hpp>
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

/// A child of a scope, from before its beginning until nothing is left of it but memory. Lies in its frame,
/// where it is destroyed last.
class scope_ticket {
public:
    /// Of one that has been admitted. `*where` is where it has been moved to.
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
    /// The child has ended by itself.
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

/// A coroutine waits in a scope's join(). Lies in its frame.
class [[nodiscard]] join_awaiter {
public:
    static constexpr bool comes_home = true;

    explicit join_awaiter(scope_state& scope) noexcept : scope_(scope) {}
    join_awaiter(const join_awaiter&) = delete;
    join_awaiter& operator=(const join_awaiter&) = delete;
    ~join_awaiter();

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
    join_awaiter* next_ = nullptr; // in the scope's list
    bool keeps_scope_ = false;     // from begin() until it has gone on, or ends
};

/// What a scope shares with its children. Thread-safe.
class scope_state {
public:
    /// From the recycler, to which it goes back by itself.
    scope_state(const environment& outer, stop_state* parent);
    scope_state(const scope_state&) = delete;
    scope_state& operator=(const scope_state&) = delete;

    [[nodiscard]] stop_state& stop() noexcept { return stop_; }
    [[nodiscard]] std::size_t size() noexcept;

    /// One more child: false if the scope is closed.
    [[nodiscard]] bool admit() noexcept;
    /// The child's frame has been made. It begins on the executor. Throws as that; then it has ended.
    void begin(scope_ticket& ticket, root_coroutine::promise_type& fresh);
    /// An exception has left a child.
    void failed(std::exception_ptr error) noexcept;
    void close() noexcept;
    /// The scope has ended.
    void leave() noexcept;

private:
    friend class scope_ticket;
    friend class join_awaiter;

    void child_ended(scope_ticket& ticket) noexcept;
    void end_of_use(std::unique_lock<sys::slow_lock> guard) noexcept;
    void destroy_children(const coroutine_service& ending) noexcept;
    void unlink(scope_ticket& ticket) noexcept;

    environment env_;
    stop_state stop_;
    sys::slow_lock lock_;
    bool is_closed_ : 1 = false; // nobody is admitted any more
    bool is_joined_ : 1 = true;  // nobody has been admitted since, that a join has not seen the end of
    bool is_alone_ : 1 = false;  // the scope has gone before its children
    std::size_t count_ = 0;      // children
    std::size_t joiners_ = 0;    // awaiters of join() that use this
    scope_ticket* first_ = nullptr;
    join_awaiter* joining_ = nullptr;
    std::exception_ptr error_;
};

/// The callable goes before the ticket.
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

/// Has coroutines run beside each other; who joins waits for all of them. Their environment is that of the
/// scope, with a stop of its own, linked to that from outside. The results are not kept.
///
/// If an exception leaves a child, the others are stopped, and join() throws it, the first one. One that only
/// says operation_canceled after a stop does not count. An executor that refuses or drops a child counts as
/// such an exception, operation_canceled.
///
/// A scope is joined before it is destroyed: else, if it has had children, the program ends with a message.
/// with_scope() sees to it. A scope in the frame of a coroutine that is destroyed with its context takes its
/// children along; they, like all coroutines, must not run on another context then. If a coroutine's executor
/// drops it while the context goes on, the children of its scope are stopped and left to themselves: a later
/// stop of the owner does not reach them.
///
/// Thread-safe, but for the destructor: that may be called as soon as one join() has gone on, also by the
/// thread in which the last child has ended. Others that await join() go on as well, without the scope.
class async_scope {
public:
    /// Children run as the given environment says, which is copied: `async_scope s(co_await
    /// get_environment());`. Throws std::bad_alloc.
    explicit async_scope(const environment& outer);
    /// Children run on `where`, and are stopped with `parent`, which lives longer; null: with none.
    template <executor E>
    explicit async_scope(const E& where, stop_state* parent = nullptr)
        : async_scope(any_executor(where), parent, 0) {}
    ~async_scope() { state_->leave(); }
    async_scope(const async_scope&) = delete;
    async_scope& operator=(const async_scope&) = delete;

    /// Has `f()` called on the executor, and awaits there what it gives; or awaits a coroutine. The callable
    /// is kept as long as its coroutine, and destroyed before the child counts as ended. False: the scope is
    /// closed, nothing has happened. If the executor takes no more, the child has ended at once, and join()
    /// throws operation_canceled; so it does if the executor throws, which comes out here. Throws
    /// std::bad_alloc, and what copying `f` throws; then nothing has begun.
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

    /// `co_await scope.join()` goes on when there is no child, and closes the scope at that moment; children
    /// may spawn others until then. Throws what has left a child, once. Not ended by a stop of the one that
    /// awaits: children are. Throws std::system_error (resource_deadlock_would_occur) in a child of this
    /// scope, and in what that awaits.
    [[nodiscard]] detail::join_awaiter join() noexcept { return detail::join_awaiter(*state_); }

    /// From now on spawn() refuses.
    void close() noexcept { state_->close(); }
    /// Stops the children; those that are spawned later, too. False: it had been requested.
    bool request_stop() noexcept { return state_->stop().request_stop(); }
    [[nodiscard]] bool stop_requested() const noexcept { return state_->stop().stop_requested(); }
    /// Children at this moment.
    [[nodiscard]] std::size_t size() const noexcept { return state_->size(); }

private:
    async_scope(const any_executor& where, stop_state* parent, int);

    detail::scope_state* const state_;
};

namespace detail {

template <class F>
using scope_body = std::invoke_result_t<F&, async_scope&>;
template <class F>
using scope_result = decltype(std::declval<awaiter_t<scope_body<F>>&>().await_resume());

} // namespace detail

/// `co_await with_scope(f)` awaits `f(scope)` as the first child of a scope, and then joins the scope in any
/// case: when it goes on, all children have ended. Gives the result of `f`. An exception, also one of `f`,
/// stops all the others and comes out; so does operation_canceled if a stop has ended `f`. Keeps the
/// callable.
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
    co_await scope.join();
    if (!has_ended) throw operation_canceled("with_scope: it was stopped");
    co_return result.take();
}

} // namespace ekiden::inline EKIDEN_ABI
