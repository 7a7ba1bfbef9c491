/// The receiving end of a result that another thread produces.
///
/// Part: future. Used by: programs that submit work.
#pragma once

#include <ekiden/future/future_base.hpp>
#include <ekiden/future/shared_future.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The result of a task or of a promise, like std::future. It can also be canceled and polled, and needs no
/// allocation of its own. docs/differences-from-std.md lists the differences.
///
/// R is an object type (it may be move-only), a reference, or void. The destructor does not wait. Every
/// function except valid() and the special ones throws std::future_error(no_state) if valid() is false.
///
/// Thread safety: one thread at a time uses a future. Different futures are independent.
///
/// **Waiting in a worker runs other tasks.** In a task of a pool, get() and wait() run other tasks of that
/// pool until the result is ready. They run on the stack of the waiting task. So a pool of one thread does
/// not hang if its tasks wait for each other. Such a task may want a lock that the waiting task holds. With
/// an ordinary mutex it then waits forever, for the task below it on the same stack. With a recursive mutex
/// it sees the protected data in the middle of a change. So do not wait while you hold a lock, or wait with
/// `blocking`, as in `result.get(ekiden::blocking)`. Such a wait runs nothing and sleeps. Waits with a limit
/// run nothing either.
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

    /// Waits like wait(), and returns the result. Throws the exception of the task or the promise. Throws
    /// std::system_error(operation_canceled) if the task was canceled or its pool stopped. Throws
    /// std::future_error(broken_promise) if the promise was destroyed without a result. valid() is false
    /// afterwards.
    R get() {
        this->wait();
        return take();
    }
    /// Returns the result like get(), but waits like wait(blocking): the thread runs nothing meanwhile.
    R get(blocking_t) {
        this->wait(blocking);
        return take();
    }

    /// Returns a shared_future of the same result. valid() is false afterwards.
    [[nodiscard]] shared_future<R> share() noexcept { return shared_future<R>(std::move(*this)); }

    /// Cancels the task if no worker has begun it. The call destroys the callable, the task does not run, and
    /// get() throws std::system_error(operation_canceled). Returns false, and has no effect, if the task has
    /// begun, has completed or was canceled before, and for a future of a promise. Takes constant time.
    bool cancel() { return this->valid_state()->cancel(); }

    /// Calls `f` on the executor `where` when the result is ready, never in this call. Returns the future of
    /// what `f` returns.
    ///
    /// If `f` takes the result (nothing for void), it is called only if there is a result; an exception goes
    /// to the returned future. If `f` takes the future, it is called in any case, with a future that is
    /// ready. `where` has outstanding work until `f` is called. If the context of `where` accepts no more
    /// tasks, or ends before the result is ready, `f` is destroyed. The returned future then reports
    /// operation_canceled. In the child of a fork(), the returned future reports operation_not_permitted if
    /// the result cannot arrive. Canceling the returned future does not cancel this future's task. valid() is
    /// false afterwards. Throws std::bad_alloc and what copying `f` throws; then it has no effect. Defined in
    /// execution/then.hpp, which the header of every executor includes.
    template <class Executor, class F>
    auto then(const Executor& where, F&& f);

private:
    friend class shared_future<R>;
    friend struct detail::future_access;

    /// Takes over one reference to `state`.
    explicit future(shared_state<R>* state) noexcept : base(state) {}

    R take() {
        const future owner(std::move(*this)); // releases the state after the result has been moved out
        return owner.state_->take();
    }
};

} // namespace ekiden::inline EKIDEN_ABI
