/// Deadlines for a part of a coroutine, and shields that hide a stop from a part of a coroutine.
///
/// Part: async. Used by: programs. Modeled on the cancel scopes of Trio, a Python library. The protocol:
/// stop.md.
#pragma once

#include <ekiden/async/detail/awaited_timer.hpp>
#include <ekiden/async/detail/group.hpp>
#include <ekiden/context/simulated.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The exception that with_deadline() throws if its deadline has stopped the enclosed coroutine. The error
/// code is std::errc::timed_out.
class timed_out : public std::system_error {
public:
    /// Makes an exception. `where` is the text of the message. Throws std::bad_alloc.
    explicit timed_out(const char* where)
        : std::system_error(std::make_error_code(std::errc::timed_out), std::string("ekiden: ") + where) {}
};

namespace detail {

/// A group with one member, which is stopped when the deadline is reached. A timer, which is called the
/// alarm, requests the stop at the deadline. The group counts the alarm like a member, so the group outlives
/// the alarm.
class deadline_group : public group, private awaited_timer {
protected:
    explicit deadline_group(sys::clock::time_point deadline) noexcept : deadline_(deadline) {}
    ~deadline_group();

    /// Sets the deadline of the member. Called between bind() and the start of the member.
    void set_deadline() noexcept {
        is_outer_earlier_ = env().deadline < deadline_;
        env().deadline = std::min(env().deadline, deadline_);
    }
    /// Sets the alarm, and then does the same as publish(). Called when the member has begun.
    [[nodiscard]] bool publish_with_alarm() noexcept;
    /// Does the same as finish(), but throws timed_out if the deadline has stopped the member.
    void finish_in_time();

private:
    // Values of phase_. [AL1]
    static constexpr std::uint8_t is_setting = 0; // the alarm is not set yet
    static constexpr std::uint8_t is_set = 1;
    static constexpr std::uint8_t is_over = 2; // the member has ended, so the alarm must be canceled

    void member_ends() noexcept override;
    void timer_ended(timer_end how) noexcept override;
    [[nodiscard]] bool set_alarm() noexcept;

    const sys::clock::time_point deadline_;
    sys::atomic<std::uint8_t> phase_{is_setting};
    bool is_outer_earlier_ = false;
    bool has_come_ = false; // whether the alarm has expired
};

template <class F>
class [[nodiscard]] with_deadline_awaiter final : public deadline_group {
public:
    template <class G>
    with_deadline_awaiter(sys::clock::time_point deadline, G&& source)
        : deadline_group(deadline), member_(std::forward<G>(source)) {}
    ~with_deadline_awaiter() { end_members(); } // must precede the destruction of member_

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
        bind(waiting);
        set_deadline();
        member_.begin(*this);
        return publish_with_alarm();
    }
    result_of_source<F> await_resume() {
        finish_in_time();
        return member_.take();
    }

private:
    only_member<F> member_;
};

template <class F>
class [[nodiscard]] shield_awaiter final : public group {
public:
    template <class G>
    explicit shield_awaiter(std::in_place_t, G&& source) : member_(std::forward<G>(source)) {}
    ~shield_awaiter() { end_members(); } // must precede the destruction of member_

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
        bind_shielded(waiting);
        member_.begin(*this);
        return publish();
    }
    result_of_source<F> await_resume() {
        finish();
        return member_.take();
    }

private:
    only_member<F> member_;
};

} // namespace detail

/// `co_await with_deadline(time, f)`: awaits the coroutine `f`, and stops it when the steady clock reaches
/// `time`. If `f` is a callable, with_deadline() awaits the coroutine that `f` returns. After the deadline,
/// an operation that the coroutine awaits throws operation_canceled, or reports in its result that it was
/// stopped. Operations that the coroutine begins after the deadline are stopped, too.
///
/// Always waits until the coroutine has ended. Returns the result of the coroutine, even if the deadline has
/// passed, or throws the exception of the coroutine. If the coroutine throws operation_canceled because of
/// this deadline, with_deadline() throws timed_out instead.
///
/// A callable is stored until its coroutine has ended. The environment of the coroutine contains the
/// deadline. If the caller has an earlier deadline, the earlier deadline stays in force. The timer is set
/// only if the coroutine waits. If `time` belongs to another clock, the call converts it to the steady clock.
template <class Clock, class Duration, class F>
    requires detail::group_source<std::decay_t<F>>
[[nodiscard]] auto with_deadline(const std::chrono::time_point<Clock, Duration>& time, F&& f) {
    return detail::with_deadline_awaiter<std::decay_t<F>>(ekiden::deadline_here(time), std::forward<F>(f));
}

/// Does the same as with_deadline(time, f), where `time` is the time of the call plus `length`.
template <class Rep, class Period, class F>
    requires detail::group_source<std::decay_t<F>>
[[nodiscard]] auto with_timeout(const std::chrono::duration<Rep, Period>& length, F&& f) {
    return detail::with_deadline_awaiter<std::decay_t<F>>(now_here<sys::clock>() + sys::bounded(length),
                                                          std::forward<F>(f));
}

/// `co_await shield(f)`: awaits the coroutine `f`, or the coroutine that the callable `f` returns. Stops and
/// deadlines of the caller do not reach this coroutine. Use shield() for clean-up that has to wait. To limit
/// the time of the clean-up, call with_timeout() inside the shield. Operations that the caller awaits after
/// the shield can be stopped again. A callable is stored until its coroutine has ended.
template <class F>
    requires detail::group_source<std::decay_t<F>>
[[nodiscard]] auto shield(F&& f) {
    return detail::shield_awaiter<std::decay_t<F>>(std::in_place, std::forward<F>(f));
}

} // namespace ekiden::inline EKIDEN_ABI
