/// The producing end of a result.
///
/// Part: future. Used by: programs that produce a result outside a task of a pool.
#pragma once

#include <ekiden/future/future.hpp>
#include <ekiden/sys/thread.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Throws std::future_error(promise_already_satisfied).
[[noreturn]] void throw_promise_already_satisfied();
/// Throws std::future_error(future_already_retrieved).
[[noreturn]] void throw_future_already_retrieved();

/// Sets the result of a future, like std::promise. The constructor allocates once, from recycled memory. A
/// promise that has been moved from has no state. The functions of a promise without a state throw
/// std::future_error(no_state).
///
/// Thread safety: several threads may try to set the result at the same time. One thread succeeds, and the
/// calls of the other threads throw std::future_error(promise_already_satisfied). While one thread copies its
/// value, the other threads wait. Ordering: everything that a thread did before it set the result happens
/// before the return of a wait that finds this result.
template <class R>
class promise {
public:
    /// Constructs a promise with a new state. Throws std::bad_alloc.
    promise() : state_(recycler::create<promise_state<R>>()) {}
    promise(promise&& other) noexcept
        : state_(std::exchange(other.state_, nullptr)), retrieved_(std::exchange(other.retrieved_, false)) {}
    promise& operator=(promise&& other) noexcept {
        promise(std::move(other)).swap(*this);
        return *this;
    }
    /// Destroys the promise. If no result has been set, get() of the future throws
    /// std::future_error(broken_promise).
    ~promise() {
        if (state_ == nullptr) return;
        if (state_->claim()) {
            state_->set_broken_promise();
            state_->complete(1);
        } else {
            state_->release();
        }
    }

    void swap(promise& other) noexcept {
        std::swap(state_, other.state_);
        std::swap(retrieved_, other.retrieved_);
    }
    friend void swap(promise& one, promise& other) noexcept { one.swap(other); }

    /// Returns the future. The second call throws std::future_error(future_already_retrieved).
    [[nodiscard]] future<R> get_future() {
        auto* const state = valid_state();
        if (std::exchange(retrieved_, true)) throw_future_already_retrieved();
        state->retain();
        return detail::future_access::make<future<R>>(state);
    }

    /// Sets the result. Throws every exception that copying or moving the value throws. A call that throws
    /// has no effect, so the program may set another result. The copy constructor of the value must not use
    /// this promise.
    void set_value()
        requires std::is_void_v<R>
    {
        set([] {});
    }
    template <class T>
        requires(std::is_reference_v<R> && std::convertible_to<T&, R>)
    void set_value(T& value) {
        set([&]() -> R { return value; });
    }
    template <class T = R>
        requires(!std::is_void_v<R> && !std::is_reference_v<R> && std::convertible_to<T, R>)
    void set_value(T&& value) {
        set([&]() -> R { return std::forward<T>(value); });
    }

    /// Makes get() of the future throw `error`. Throws std::invalid_argument if `error` is null.
    void set_exception(std::exception_ptr error) {
        if (error == nullptr)
            throw std::invalid_argument("ekiden: set_exception: error is null; allowed is an exception");
        auto* const state = claimed_state();
        state->set_exception(std::move(error));
        state->complete(0);
    }

private:
    [[nodiscard]] promise_state<R>* valid_state() const {
        if (state_ == nullptr) throw_no_state();
        return state_;
    }

    [[nodiscard]] promise_state<R>* claimed_state() const {
        auto* const state = valid_state();
        while (!state->claim()) {
            if (state->is_ready()) throw_promise_already_satisfied();
            sys::yield(); // another thread is copying its value, and may fail
        }
        return state;
    }

    template <class F>
    void set(F&& result) {
        auto* const state = claimed_state();
        try {
            state->emplace_from(std::forward<F>(result));
        } catch (...) {
            state->unclaim();
            throw;
        }
        state->complete(0);
    }

    promise_state<R>* state_;
    bool retrieved_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI
