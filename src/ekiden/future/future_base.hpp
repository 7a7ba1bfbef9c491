/// The common base of future and shared_future. The base points to the state of a result, and can wait for
/// the result.
///
/// Part: future. Used by: future, shared_future.
#pragma once

#include <ekiden/context/held_locks.hpp>
#include <ekiden/future/detail/shared_state.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <chrono>
#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Throws std::future_error(no_state).
[[noreturn]] void throw_no_state();

/// The type of `blocking`. A wait with the argument `blocking` sleeps until the result is ready, and runs no
/// other task meanwhile.
struct blocking_t {
    explicit blocking_t() = default;
};
/// The argument for get() and wait() that makes the thread sleep instead of running other tasks.
inline constexpr blocking_t blocking{};

namespace detail {

/// Gives other parts of the library access to the state of a future.
struct future_access {
    /// Returns the state of the future, or null if the future has no state.
    template <class Future>
    [[nodiscard]] static auto* state(const Future& from) noexcept {
        return from.state_;
    }
    /// Returns a future that owns one of the references to `state`.
    template <class Future, class State>
    [[nodiscard]] static Future make(State* state) noexcept {
        return Future(state);
    }
    /// Returns the state of the future, and leaves the future without a state.
    template <class Future>
    [[nodiscard]] static auto* leave(Future& from) noexcept {
        return from.leave_state();
    }
};

/// The functions that future and shared_future have in common. Every function except valid() throws
/// std::future_error(no_state) if the future has no state.
///
/// Thread safety: several threads may call the const functions at the same time. Ordering: everything that
/// the producer did before it set the result happens before the return of a wait that finds the result, and
/// before is_ready() returns true. Lifetime: if a task was queued or running at a fork(), its result cannot
/// arrive in the child process. In the child, every wait for this result throws
/// std::system_error(operation_not_permitted) at once.
template <class R>
class future_base {
public:
    /// Returns whether this future has a state.
    [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

    /// Returns whether the result is ready, so that get() does not wait.
    [[nodiscard]] bool is_ready() const { return valid_state()->is_ready(); }

    /// Waits until the result is ready. Meanwhile a worker of a pool runs other tasks of that pool, as the
    /// comment of `future` describes.
    void wait() const {
        expect_no_held_lock("wait");
        if (!valid_state()->wait()) [[unlikely]]
            throw_left_behind();
    }

    /// Waits until the result is ready, and runs no other task meanwhile. In a worker of a pool, the wait
    /// counts as a blocking_region, so the pool may let another thread work meanwhile. A pool without a spare
    /// thread makes no progress if all its workers wait with `blocking` for queued tasks. After stop() of the
    /// pool, a waiting worker destroys the queued tasks without running them. So the destructors of these
    /// tasks must not need a lock that the caller holds.
    void wait(blocking_t) const {
        if (!valid_state()->wait_asleep()) [[unlikely]]
            throw_left_behind();
    }

    /// Waits until the result is ready, or until a stop is requested. Returns whether the result is ready.
    /// Runs no other task meanwhile, like every wait with a limit. In a worker of a pool, the wait counts as
    /// a blocking_region. If the wait ends without a result, the task continues, and the future stays valid.
    [[nodiscard]] bool wait(std::stop_token stop) const { return wait(wait_limit(std::move(stop))); }

    /// Waits until the result is ready, or until `limit` is reached. Returns whether the result is ready.
    /// Waits like wait(std::stop_token). Waits like wait() if `limit` can never be reached.
    [[nodiscard]] bool wait(const wait_limit& limit) const {
        shared_state<R>* const awaited = valid_state();
        if (awaited->is_left_behind()) [[unlikely]]
            throw_left_behind();
        if (limit.is_endless()) expect_no_held_lock("wait");
        return awaited->wait(limit);
    }

    /// Waits at most for `duration`, which may have any unit. The duration may be max() or infinity. If the
    /// duration is not positive, the call only checks the result. Returns whether the result is ready. Waits
    /// like wait(const wait_limit&).
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& duration) const {
        return wait(wait_limit::after(duration));
    }

    /// Waits at most until `deadline`, which may be a time point of any clock and any unit. If the clock is
    /// changed during the wait, the wait uses the new time of the clock. Returns whether the result is ready.
    /// Waits like wait(const wait_limit&).
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& deadline) const {
        return wait(wait_limit::until(deadline));
    }

protected:
    friend struct future_access;

    future_base() noexcept = default;
    /// Constructs a future that owns one of the references to `state`. A null pointer means no state.
    explicit future_base(shared_state<R>* state) noexcept : state_(state) {}
    future_base(const future_base&) = delete;
    future_base& operator=(const future_base&) = delete;
    ~future_base() {
        if (state_ != nullptr) state_->release();
    }

    /// Reports an error if the calling thread holds a lock. A waiting worker runs other tasks, which may need
    /// the lock that the waiting task holds.
    void expect_no_held_lock([[maybe_unused]] const char* what) const {
        if constexpr (lock_checks) {
            if (valid() && !is_ready()) expect_no_lock_held(what);
        }
    }

    [[nodiscard]] shared_state<R>* valid_state() const {
        if (state_ == nullptr) [[unlikely]]
            throw_no_state();
        return state_;
    }
    /// Returns the state. The caller takes over the reference that this future held.
    [[nodiscard]] shared_state<R>* leave_state() noexcept { return std::exchange(state_, nullptr); }

    shared_state<R>* state_ = nullptr;
};

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
