/// The receiving end of a result that another thread produces.
///
/// Part: future. Used by: programs that submit work.
#pragma once

#include <ekiden/future/future_base.hpp>
#include <ekiden/future/shared_future.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Receives the result of a task or of a promise, like std::future. A program can also poll a future, and
/// cancel its task. A future needs no allocation of its own. The page docs/differences-from-std.md lists all
/// differences from std::future.
///
/// R is an object type, a reference, or void. An object type may be move-only. The destructor does not wait
/// for the result. If valid() is false, every function throws std::future_error(no_state), except valid(),
/// swap(), share() and the special member functions.
///
/// Thread safety: only one thread at a time may use a future. Different futures are independent.
///
/// **A wait in a worker runs other tasks.** In a task of a pool, get() and wait() run other tasks of that
/// pool until the result is ready. These inner tasks run on the stack of the waiting task. So a pool of one
/// thread does not hang if its tasks wait for each other.
///
/// An inner task may need a lock that the waiting task holds. If the lock is an ordinary mutex, the inner
/// task waits forever, because the thread cannot return to the waiting task. If the lock is recursive, the
/// inner task may read protected data in the middle of a change. So do not wait while the thread holds a
/// lock. If a thread has to wait while it holds a lock, pass `blocking`, as in
/// `result.get(ekiden::blocking)`. A wait with `blocking` sleeps and runs no other task. A wait with a limit
/// runs no other task either.
template <class R>
class [[nodiscard]] future : public detail::future_base<R> {
    using base = detail::future_base<R>;

public:
    /// Constructs a future without a state.
    future() noexcept = default;
    future(future&& other) noexcept : base(other.leave_state()) {}
    future& operator=(future&& other) noexcept {
        future(std::move(other)).swap(*this);
        return *this;
    }
    ~future() = default;

    void swap(future& other) noexcept { std::swap(this->state_, other.state_); }
    friend void swap(future& one, future& other) noexcept { one.swap(other); }

    /// Waits like wait(), and returns the result. Throws the exception that the task has thrown, or that
    /// set_exception() of the promise has set. Throws operation_canceled if the task was
    /// canceled, or if the pool was stopped before it ran the task. Throws std::future_error(broken_promise)
    /// if the promise was destroyed without a result. Afterwards valid() is false.
    R get() {
        this->wait();
        return take();
    }
    /// Returns the result like get(), but waits like wait(blocking). The thread runs no other task meanwhile.
    R get(blocking_t) {
        this->wait(blocking);
        return take();
    }

    /// Returns a shared_future for the result of this future. Afterwards valid() is false.
    [[nodiscard]] shared_future<R> share() noexcept { return shared_future<R>(std::move(*this)); }

    /// Cancels the task if no worker has begun it, and returns true. The call destroys the callable, the task
    /// does not run, and get() throws operation_canceled. Returns false and has no effect
    /// if the task has begun, has completed, or was canceled before. Always returns false for the future of a
    /// promise. Takes constant time.
    bool cancel() { return this->valid_state()->cancel(); }

    /// Calls `f` on the executor `where` when the result is ready. The function then() itself never calls
    /// `f`. Returns a future for the value that `f` returns.
    ///
    /// If `f` has a parameter for the result, or no parameter in the case of future<void>, `f` is called only
    /// if there is a result. An exception of this future goes directly to the returned future. If `f` accepts
    /// the future itself, `f` is also called after an exception. `f` then gets a future that is ready. The
    /// context of `where` has outstanding work until `f` is called.
    ///
    /// If the context of `where` accepts no more tasks, or ends before the result is ready, `f` is destroyed.
    /// The returned future then reports operation_canceled. Both have happened when the destructor of the
    /// context returns, unless `f` owns the context. In the child of a fork(), the returned future reports
    /// operation_not_permitted if the result cannot arrive. Canceling the returned future does not cancel the
    /// task of this future.
    ///
    /// Afterwards valid() is false. Throws std::bad_alloc, and every exception that copying `f` throws. If
    /// then() throws, the call has no effect. The function then() is defined in execution/then.hpp, which the
    /// header of every executor includes.
    template <class Executor, class F>
    auto then(const Executor& where, F&& f);

private:
    friend class shared_future<R>;
    friend struct detail::future_access;

    /// Constructs a future that owns one of the references to `state`.
    explicit future(shared_state<R>* state) noexcept : base(state) {}

    R take() {
        const future owner(std::move(*this)); // the destructor of `owner` releases the state
        return owner.state_->take();
    }
};

} // namespace ekiden::inline EKIDEN_ABI
