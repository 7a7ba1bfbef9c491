/// A timer that limits the wait of a coroutine.
///
/// Part: async. Used by: sleep, limited_wait, with_deadline. This header is private.
#pragma once

#include <ekiden/async/environment.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/timer/detail/timer_state.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::detail {

/// Says how a timer has ended.
enum class timer_end : std::uint8_t {
    expired,  ///< the timer has reached its time
    canceled, ///< cancel_timer() was called before the timer reached its time
    dropped   ///< the context that runs the timer has shut down
};

/// The base class of awaiters that have a timer. A timer that has been set calls timer_ended() exactly once.
/// The awaiter must not be destroyed before timer_ended() is called.
///
/// Thread safety: only the coroutine may call set_timer() and leave_timer(). Another thread may call
/// cancel_timer() if set_timer() happens before this call.
class awaited_timer : private timer_wait {
public:
    awaited_timer(const awaited_timer&) = delete;
    awaited_timer& operator=(const awaited_timer&) = delete;

protected:
    awaited_timer() noexcept : timer_wait(&answer, &come_due) {}
    ~awaited_timer() = default; // the derived class must call leave_timer() first

    /// Sets a timer that ends at `time`, in the context of the executor of `env`. Throws std::bad_alloc.
    /// Throws std::system_error if the context needs a thread for its timers, and the system cannot create
    /// this thread. If set_timer() throws, the timer is not set.
    void set_timer(const environment& env, sys::clock::time_point time);
    [[nodiscard]] bool has_timer() const noexcept { return state_.read() != nullptr; }
    /// Cancels the timer. The timer ends inside this call, unless another thread is already about to fire the
    /// timer.
    void cancel_timer() noexcept { (void)state_.read()->cancel(); }
    /// If a timer has been set, releases the timer. A timer that has not ended yet is canceled.
    void leave_timer() noexcept;

private:
    /// Called when the timer no longer refers to the awaiter. The call may destroy the awaiter.
    virtual void timer_ended(timer_end how) noexcept = 0;

    static void come_due(timer_wait& self) noexcept;
    static const char* answer(task* self, task_request request);

    sys::cell<timer_state*> state_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI::detail
