/// A timer that limits the wait of a coroutine.
///
/// Part: async. Used by: the awaiters of sleep_for(), of limited waits and of with_deadline(). Private.
#pragma once

#include <ekiden/async/environment.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/timer/detail/timer_state.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::detail {

/// How a timer has ended.
enum class timer_end : std::uint8_t {
    expired,  ///< its time has come
    canceled, ///< cancel() was called before
    dropped   ///< the context of the environment has shut down
};

/// A base of awaiters. A timer that was set calls ended() exactly once. Before that call, the awaiter must
/// not be destroyed.
///
/// Thread safety: the coroutine sets the timer and leaves it. Another thread may call cancel() after set(),
/// if it is ordered behind that call.
class awaited_timer : private timer_wait {
public:
    awaited_timer(const awaited_timer&) = delete;
    awaited_timer& operator=(const awaited_timer&) = delete;

protected:
    awaited_timer() noexcept : timer_wait(&answer, &come_due) {}
    ~awaited_timer() = default; // after leave_timer()

    /// Sets the timer, among the timers of the environment's context. Throws std::bad_alloc. Throws
    /// std::system_error if the context needs a thread for its timers and the system gives none. If it
    /// throws, the timer is not set.
    void set_timer(const environment& env, sys::clock::time_point time);
    [[nodiscard]] bool has_timer() const noexcept { return state_.read() != nullptr; }
    /// Cancels the timer. It ends within this call, unless another thread is about to fire it.
    void cancel_timer() noexcept { (void)state_.read()->cancel(); }
    /// Lets the timer go, if one was set. The timer has ended, or ends soon: this call cancels it.
    void leave_timer() noexcept;

private:
    /// The timer no longer refers to the awaiter. It may be destroyed inside the call.
    virtual void timer_ended(timer_end how) noexcept = 0;

    static void come_due(timer_wait& self) noexcept;
    static const char* answer(task* self, task_request request);

    sys::cell<timer_state*> state_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI::detail
