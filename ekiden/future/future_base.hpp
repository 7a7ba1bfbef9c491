/// What future and shared_future have in common: a state, or none, and the ways to wait for its result.
///
/// Part: future. Used by: programs, through future and shared_future.
#pragma once

#include <ekiden/context/held_locks.hpp>
#include <ekiden/context/simulated.hpp>
#include <ekiden/future/shared_state.hpp>

#include <chrono>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Throws std::future_error(no_state).
[[noreturn]] void throw_no_state();

/// Said to wait() and get(): the thread sleeps until the result is there, and runs nothing meanwhile.
struct blocking_t {
    explicit blocking_t() = default;
};
/// For get(blocking) and wait(blocking).
inline constexpr blocking_t blocking{};

namespace detail {

/// For what continues futures.
struct future_access {
    /// The state; null if there is none.
    template <class Future>
    [[nodiscard]] static auto* state(const Future& from) noexcept {
        return from.state_;
    }
    /// As state(), and the future has none any more.
    template <class Future>
    [[nodiscard]] static auto* leave(Future& from) noexcept {
        return from.leave_state();
    }
};

/// The const functions may be called by several threads at once.
template <class R>
class future_base {
public:
    /// Whether there is a state.
    [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

    /// Whether get() would return at once. What the producer did before is visible then.
    [[nodiscard]] bool is_ready() const { return valid_state()->is_ready(); }

    /// Returns when is_ready() would be true. In a worker of a pool it runs other tasks of that pool
    /// meanwhile: see future. Throws std::system_error(operation_not_permitted) at once if the result cannot
    /// come: in the child of a fork(), for a task that was queued or ran then. So do all that wait.
    void wait() const {
        expect_no_held_lock("wait");
        if (!valid_state()->wait()) [[unlikely]]
            throw_left_behind();
    }

    /// The same, but runs nothing meanwhile. In a worker of a pool it counts as a blocking_region: the pool
    /// may have another thread run its tasks. Where it has none to spare, a pool all of whose workers wait
    /// so for tasks that are queued does not get on.
    void wait(blocking_t) const {
        if (!valid_state()->wait_asleep()) [[unlikely]]
            throw_left_behind();
    }

    /// Waits at most for `duration`; any unit and any value, also max() and those beyond all time. True if
    /// ready. Runs no other tasks meanwhile, since they might take longer.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& duration) const {
        return wait_until(now_here<sys::clock>() + sys::bounded(duration));
    }

    /// Waits at most until `deadline`, of any clock, unit and value. True if ready. Otherwise as wait_for().
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& deadline) const {
        shared_state<R>* const awaited = valid_state();
        if (awaited->is_left_behind()) [[unlikely]]
            throw_left_behind();
        if constexpr (sys::is_own_clock<Clock>) {
            return awaited->wait_until(deadline_here(deadline));
        } else { // the other clock may be set meanwhile: look again when its time should have come
            for (auto left = time_left_here(deadline); left.count() > 0; left = time_left_here(deadline)) {
                if (awaited->wait_until(now_here<sys::clock>() + left)) return true;
            }
            return awaited->is_ready();
        }
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

    /// A worker that waits runs other tasks, which may want the lock that its own task holds.
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
    /// Gives the reference away.
    [[nodiscard]] shared_state<R>* leave_state() noexcept { return std::exchange(state_, nullptr); }

    shared_state<R>* state_ = nullptr;
};

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
