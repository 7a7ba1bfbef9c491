/// The common base of future and shared_future: a state, or none, and the ways to wait for its result.
///
/// Part: future. Used by: programs, through future and shared_future.
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

/// An argument for wait() and get(). With it, the thread sleeps until the result is ready, and runs nothing
/// meanwhile.
struct blocking_t {
    explicit blocking_t() = default;
};
/// The argument of get(blocking) and wait(blocking).
inline constexpr blocking_t blocking{};

namespace detail {

/// Access to the state of a future.
struct future_access {
    /// Returns the state, or null if there is none.
    template <class Future>
    [[nodiscard]] static auto* state(const Future& from) noexcept {
        return from.state_;
    }
    /// Returns a future that takes over one reference to `state`.
    template <class Future, class State>
    [[nodiscard]] static Future make(State* state) noexcept {
        return Future(state);
    }
    /// Returns the state and removes it from the future.
    template <class Future>
    [[nodiscard]] static auto* leave(Future& from) noexcept {
        return from.leave_state();
    }
};

/// Every function except valid() throws std::future_error(no_state) if there is no state.
///
/// Thread safety: several threads may call the const functions at the same time.
/// Ordering: everything that the producer did before it set the result happens before a wait returns that
/// finds the result. It also happens before is_ready() returns true.
/// Lifetime: in the child of a fork(), the result of a task that was queued or ran at the fork cannot arrive.
/// Every wait for it throws std::system_error(operation_not_permitted) at once.
template <class R>
class future_base {
public:
    /// Returns whether there is a state.
    [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

    /// Returns whether get() would return at once.
    [[nodiscard]] bool is_ready() const { return valid_state()->is_ready(); }

    /// Waits until the result is ready. A worker of a pool runs other tasks of that pool meanwhile: see
    /// future.
    void wait() const {
        expect_no_held_lock("wait");
        if (!valid_state()->wait()) [[unlikely]]
            throw_left_behind();
    }

    /// Waits until the result is ready, and runs nothing meanwhile. In a worker of a pool the wait counts as
    /// a blocking_region, so the pool may let another thread run its tasks. If the pool has no spare thread,
    /// and all its workers wait like this for queued tasks, it makes no progress.
    void wait(blocking_t) const {
        if (!valid_state()->wait_asleep()) [[unlikely]]
            throw_left_behind();
    }

    /// Waits until the result is ready, or until a stop is requested. Returns whether the result is ready.
    /// Runs nothing meanwhile, like every wait with a limit. In a worker of a pool it counts as a
    /// blocking_region. A wait that gives up has no effect: the task continues, and the future stays valid.
    [[nodiscard]] bool wait(std::stop_token stop) const { return wait(wait_limit(std::move(stop))); }

    /// Waits until the result is ready, or until `limit` is reached. Returns whether the result is ready.
    /// Waits like wait(std::stop_token). If `limit` can never be reached, waits like wait().
    [[nodiscard]] bool wait(const wait_limit& limit) const {
        shared_state<R>* const awaited = valid_state();
        if (awaited->is_left_behind()) [[unlikely]]
            throw_left_behind();
        if (limit.is_endless()) expect_no_held_lock("wait");
        return awaited->wait(limit);
    }

    /// Waits at most for `duration`, in any unit. max() and infinity are allowed. A duration <= 0 only
    /// checks. Returns whether the result is ready. Waits like wait(const wait_limit&).
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& duration) const {
        return wait(wait_limit::after(duration));
    }

    /// Waits at most until `deadline`, of any clock and in any unit. If the clock is set meanwhile, the wait
    /// follows the new time. Returns whether the result is ready. Waits like wait(const wait_limit&).
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& deadline) const {
        return wait(wait_limit::until(deadline));
    }

protected:
    friend struct future_access;

    future_base() noexcept = default;
    /// Takes over one reference to the state, if there is one.
    explicit future_base(shared_state<R>* state) noexcept : state_(state) {}
    future_base(const future_base&) = delete;
    future_base& operator=(const future_base&) = delete;
    ~future_base() {
        if (state_ != nullptr) state_->release();
    }

    /// Checks that this thread holds no lock. A waiting worker runs other tasks, which may want the lock that
    /// its own task holds.
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
    /// Returns the reference, which the caller then owns.
    [[nodiscard]] shared_state<R>* leave_state() noexcept { return std::exchange(state_, nullptr); }

    shared_state<R>* state_ = nullptr;
};

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
