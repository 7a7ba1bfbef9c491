/// The receiving end of a result that another thread produces.
///
/// Part: future. Used by: everybody who submits work.
#pragma once

#include <ekiden/future/future_base.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

template <class R>
class shared_future;

/// As std::future, and: it can be cancelled, asked whether it is ready, and costs no allocation of its own.
/// docs/differences-from-std.md has what differs.
///
/// R is an object type (it may be move-only), a reference, or void. One thread at a time uses a future;
/// different futures are independent. The destructor does not wait. Each function but valid() and the special
/// ones throws std::future_error(no_state) if valid() is false.
///
/// **Waiting in a worker runs other tasks.** get() and wait() in a task of a pool run any other task of that
/// pool on the waiting task's stack until the result is there, so that a pool of one thread does not hang
/// when its tasks wait for each other. Such a task may take a lock that the waiting task holds: with
/// an ordinary mutex it then waits for ever for the task below it on the same stack, and through a recursive
/// one it sees what the lock protects in the middle of a change. So: do not wait while holding a lock,
/// or wait with `blocking`, as in `result.get(ekiden::blocking)`, which runs nothing and sleeps. Waits with a
/// limit run nothing either.
template <class R>
class [[nodiscard]] future : public detail::future_base<R> {
    using base = detail::future_base<R>;

public:
    /// Without a state.
    future() noexcept = default;
    future(future&& other) noexcept : base(other.leave_state()) {}
    future& operator=(future&& other) noexcept {
        future(std::move(other)).swap(*this);
        return *this;
    }
    ~future() = default;

    /// Takes over one reference to the state.
    explicit future(shared_state<R>* state) noexcept : base(state) {}

    void swap(future& other) noexcept { std::swap(this->state_, other.state_); }
    friend void swap(future& one, future& other) noexcept { one.swap(other); }

    /// Waits as wait() does, and returns the result or throws the exception of the producer;
    /// std::system_error(operation_canceled) if the task was cancelled or its pool stopped;
    /// std::future_error(broken_promise) if the promise went without a result. valid() is false afterwards.
    R get() {
        this->wait();
        return take();
    }
    /// The same, but waits as wait(blocking) does: the thread runs nothing meanwhile.
    R get(blocking_t) {
        this->wait(blocking);
        return take();
    }

    /// The same result for any number of takers. valid() is false afterwards. Defined in shared_future.hpp,
    /// which a program that calls it includes.
    [[nodiscard]] shared_future<R> share() noexcept;

    /// Cancels the task if no worker has begun it: its callable is destroyed here and now, it will not run,
    /// and get() throws std::system_error(operation_canceled). False if it has begun, ended or been cancelled
    /// before, and for a future of a promise. Takes constant time, wherever the task is queued.
    bool cancel() { return this->valid_state()->cancel(); }

    /// Has `f` called by the executor `where` when the result is there, and returns the future of what `f`
    /// returns. `f` takes the result, or nothing for void; a failure passes it by, to the returned future. If
    /// it takes the future instead, it is called in any case, with one that is ready. Never called here and
    /// now. Until then `where` has outstanding work. If `where` takes no more, or its context ends before the
    /// result is there, `f` is destroyed and the returned future reports operation_canceled. In the child of
    /// a fork(), if the result cannot come, it reports operation_not_permitted, as get() does. Cancelling
    /// that does not touch this one. valid() is false afterwards. Throws what copying `f` throws, and
    /// std::bad_alloc; then this is as before. Defined in execution/then.hpp, which a program that calls it
    /// includes.
    template <class Executor, class F>
    auto then(const Executor& where, F&& f);

private:
    friend class shared_future<R>;
    friend struct detail::future_access;

    R take() {
        const future owner(std::move(*this)); // releases the state after the result has been moved out
        return owner.state_->take();
    }
};

} // namespace ekiden::inline EKIDEN_ABI
