/// Suspends a coroutine for a duration or until a time point.
///
/// Part: async. Used by: programs. The protocol: stop.md.
#pragma once

#include <ekiden/async/detail/awaited_timer.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/context/simulated.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <chrono>
#include <coroutine>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// The awaiter of a sleep. The awaiter contains a timer, a node for stop requests, and the suspension of the
/// coroutine. The awaiter lies in the frame of the coroutine that sleeps.
class [[nodiscard]] sleep_awaiter final : awaited_timer, stop_node {
public:
    static constexpr bool comes_home = true;

    explicit sleep_awaiter(sys::clock::time_point time) noexcept : stop_node(&stopped), time_(time) {}
    ~sleep_awaiter();

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> waiting) {
        home_.bind(waiting);
        begin();
    }
    void await_resume() {
        if (!end()) throw operation_canceled("sleep: it was stopped");
    }

private:
    // The bits of parts_ record which events have happened. [TW1]
    static constexpr std::uint8_t has_begun = 1; // begin() no longer uses the awaiter
    static constexpr std::uint8_t is_due = 2;    // the timer no longer uses the awaiter
    static constexpr std::uint8_t is_stopped = 4;
    static constexpr std::uint8_t is_ending = 8; // the awaiter is being destroyed

    void begin();
    void publish() noexcept;
    [[nodiscard]] bool end() noexcept;
    void timer_ended(timer_end how) noexcept override;
    static void stopped(stop_node& self) noexcept;

    suspension home_;
    sys::clock::time_point time_;
    sys::atomic<std::uint8_t> parts_{0};
    bool is_cut_ = false;                // the deadline of the environment is before time_
    sys::cell<bool> is_canceled_{false}; // timer_ended() writes is_canceled_ before it sets is_due
};

} // namespace detail

/// `co_await sleep_until(time)`: waits until the steady clock reaches `time`. Then the coroutine is posted to
/// its executor and resumes there. The coroutine is posted even if `time` has been reached before the call.
/// If `time` belongs to another clock, the call converts it to the steady clock.
///
/// Throws operation_canceled if the coroutine is stopped or its deadline passes before `time`. Throws
/// std::bad_alloc. Throws std::system_error if the context needs a thread for its timers and the system
/// cannot start one.
template <class Clock, class Duration>
[[nodiscard]] detail::sleep_awaiter
sleep_until(const std::chrono::time_point<Clock, Duration>& time) noexcept {
    return detail::sleep_awaiter(ekiden::deadline_here(time));
}

/// Waits like sleep_until(time), where `time` is the time of the call plus `length`.
template <class Rep, class Period>
[[nodiscard]] detail::sleep_awaiter sleep_for(const std::chrono::duration<Rep, Period>& length) noexcept {
    return detail::sleep_awaiter(now_here<sys::clock>() + sys::bounded(length));
}

} // namespace ekiden::inline EKIDEN_ABI
