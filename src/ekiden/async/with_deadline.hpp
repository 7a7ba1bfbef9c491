/// Deadlines and shields for parts of a coroutine.
///
/// Part: async. Used by: programs. Modeled on the cancel scopes of Trio. The protocol: stop.md.
#pragma once

#include <ekiden/async/detail/awaited_timer.hpp>
#include <ekiden/async/detail/group.hpp>
#include <ekiden/async/operation_canceled.hpp>
#include <ekiden/context/simulated.hpp>
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

/// The exception that with_deadline() throws if the deadline has stopped what it encloses. The error is
/// std::errc::timed_out.
class timed_out : public std::system_error {
public:
    /// Throws std::bad_alloc.
    explicit timed_out(const char* where)
        : std::system_error(std::make_error_code(std::errc::timed_out), std::string("ekiden: ") + where) {}
};

namespace detail {

/// A group with one member, whose stop is requested at the deadline. Its timer is the alarm. The alarm counts
/// as a party, so the group outlives it.
class deadline_group : public group, private awaited_timer {
protected:
    explicit deadline_group(sys::clock::time_point deadline) noexcept : deadline_(deadline) {}
    ~deadline_group();

    /// Called between bind() and the start of the member.
    void set_deadline() noexcept {
        is_outer_earlier_ = env().deadline < deadline_;
        env().deadline = std::min(env().deadline, deadline_);
    }
    /// Called when the member has begun. Otherwise like publish().
    [[nodiscard]] bool publish_with_alarm() noexcept;
    /// Like finish(). Throws timed_out if the deadline has stopped the member.
    void finish_in_time();

private:
    // phase_: [AL1]
    static constexpr std::uint8_t is_setting = 0; // the alarm is not set yet
    static constexpr std::uint8_t is_set = 1;
    static constexpr std::uint8_t is_over = 2; // the member has ended: the alarm must be canceled

    void member_ends() noexcept override;
    void timer_ended(timer_end how) noexcept override;
    [[nodiscard]] bool set_alarm() noexcept;

    const sys::clock::time_point deadline_;
    sys::atomic<std::uint8_t> phase_{is_setting};
    bool is_outer_earlier_ = false;
    bool has_come_ = false; // whether the deadline has been reached
};

template <class F>
class [[nodiscard]] with_deadline_awaiter final : public deadline_group {
public:
    template <class G>
    with_deadline_awaiter(sys::clock::time_point deadline, G&& source)
        : deadline_group(deadline), member_(std::forward<G>(source)) {}
    ~with_deadline_awaiter() { end_members(); } // before member_, which they use

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
    ~shield_awaiter() { end_members(); } // before member_, which they use

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

/// `co_await with_deadline(time, f)`: awaits the coroutine `f`, or what the callable `f` returns, and stops
/// it when the steady clock reaches `time`. After the deadline, operations that it awaits complete with
/// operation_canceled or report the stop in their result. Operations that it begins later do the same.
///
/// Always waits until the coroutine has ended. Returns its result, even if it completes after the deadline,
/// or throws its exception. Throws timed_out if operation_canceled has left it because of this deadline.
///
/// The callable is kept as long as its coroutine. The deadline is in the environment of the enclosed
/// coroutines. An earlier deadline from outside stays in force. The timer is only set if the coroutine waits.
/// For another clock, the distance from now counts.
template <class Clock, class Duration, class F>
    requires detail::group_source<std::decay_t<F>>
[[nodiscard]] auto with_deadline(const std::chrono::time_point<Clock, Duration>& time, F&& f) {
    return detail::with_deadline_awaiter<std::decay_t<F>>(deadline_here(time), std::forward<F>(f));
}

/// The same with a duration from the call.
template <class Rep, class Period, class F>
    requires detail::group_source<std::decay_t<F>>
[[nodiscard]] auto with_timeout(const std::chrono::duration<Rep, Period>& length, F&& f) {
    return detail::with_deadline_awaiter<std::decay_t<F>>(now_here<sys::clock>() + sys::bounded(length),
                                                          std::forward<F>(f));
}

/// `co_await shield(f)`: awaits the coroutine `f`, or what the callable `f` returns, and hides every stop and
/// deadline from outside. Use it for clean-up that has to wait. To limit it, call with_timeout() inside.
/// Later awaits of the caller see the stop again. The callable is kept as long as its coroutine.
template <class F>
    requires detail::group_source<std::decay_t<F>>
[[nodiscard]] auto shield(F&& f) {
    return detail::shield_awaiter<std::decay_t<F>>(std::in_place, std::forward<F>(f));
}

} // namespace ekiden::inline EKIDEN_ABI
