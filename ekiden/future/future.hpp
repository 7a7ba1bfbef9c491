/// The receiving end of a result that another thread produces.
///
/// Part: future. Used by: everybody who submits work.
#pragma once

#include <ekiden/future/shared_state.hpp>

#include <chrono>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Throws std::future_error(no_state).
[[noreturn]] void throw_no_state();

/// As std::future, and: it can be cancelled, asked whether it is ready, and costs no allocation of its own.
/// Waiting in a worker of a pool runs other tasks of that pool meanwhile.
///
/// R is an object type (it may be move-only), a reference, or void. One thread at a time uses a future;
/// different futures are independent. The destructor does not wait. Each function but valid() and the special
/// ones throws std::future_error(no_state) if valid() is false.
template <class R>
class [[nodiscard]] future {
public:
    /// Without a state.
    future() noexcept = default;
    future(future&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    future& operator=(future&& other) noexcept {
        future(std::move(other)).swap(*this);
        return *this;
    }
    ~future() {
        if (state_ != nullptr) state_->release();
    }

    /// Takes over one reference to the state.
    explicit future(shared_state<R>* state) noexcept : state_(state) {}

    void swap(future& other) noexcept { std::swap(state_, other.state_); }

    /// Whether there is a state: true until get().
    [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

    /// Whether get() would return at once. What the producer did before is visible then.
    [[nodiscard]] bool is_ready() const { return valid_state()->is_ready(); }

    /// Waits, and returns the result or throws the exception of the producer;
    /// std::system_error(operation_canceled) if the task was cancelled or its pool stopped;
    /// std::future_error(broken_promise) if the promise went without a result. valid() is false afterwards.
    R get() {
        wait();
        const future owner(std::move(*this)); // releases the state after the result has been moved out
        return owner.state_->take();
    }

    /// Returns when is_ready() would be true. Throws std::system_error(operation_not_permitted) at once if
    /// that cannot be: in the child of a fork(), for a task that was queued or ran then; so do all that wait.
    void wait() const {
        if (!valid_state()->wait()) [[unlikely]]
            throw_left_behind();
    }

    /// Waits at most for `duration`. True if ready.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& duration) const {
        return wait_until(sys::clock::now() + sys::bounded(duration));
    }

    /// Waits at most until `deadline`, of any clock. True if ready.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& deadline) const {
        shared_state<R>* const awaited = valid_state();
        if (awaited->is_left_behind()) [[unlikely]]
            throw_left_behind();
        if constexpr (std::is_same_v<Clock, sys::clock>) {
            return awaited->wait_until(sys::clock::time_point(sys::bounded(deadline.time_since_epoch())));
        } else { // the other clock may be set meanwhile: look again when its time should have come
            for (auto now = Clock::now(); now < deadline; now = Clock::now()) {
                if (awaited->wait_until(sys::clock::now() + sys::bounded(deadline - now))) return true;
            }
            return awaited->is_ready();
        }
    }

    /// Cancels the task if no worker has begun it: its callable is destroyed here and now, it will not run,
    /// and get() throws std::system_error(operation_canceled). False if it has begun, ended or been cancelled
    /// before, and for a future of a promise. Takes constant time, wherever the task is queued.
    bool cancel() { return valid_state()->cancel(); }

private:
    [[nodiscard]] shared_state<R>* valid_state() const {
        if (state_ == nullptr) [[unlikely]]
            throw_no_state();
        return state_;
    }

    shared_state<R>* state_ = nullptr;
};

} // namespace ekiden::inline EKIDEN_ABI
