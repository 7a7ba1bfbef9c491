// Clocks other than the monotonic one: they are set, jump, use other units, or reach the end of their range.
#include <ekiden/timer/system_timer.hpp>

#include "hand_driven.hpp"
#include <doctest/doctest.h>
#include <ekiden/timer/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <limits>
#include <system_error>
#include <thread>

namespace {

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::hand_clock;
using ekiden_test::hand_driven;

template <class Clock>
using timer_on = basic_waitable_timer<Clock, hand_driven::executor_type>;

/// Fires due timers. Returns how many handlers of the context run because of that.
int fired(hand_driven& context) {
    context.ring();
    return context.run_all();
}

} // namespace

TEST_CASE("When a clock is set forward, its timers fire at the next look, and set back they wait again") {
    using clock = hand_clock<std::chrono::milliseconds, struct set_forward_and_back>;
    clock::set(1h);
    hand_driven context;
    timer_on<clock> timer(context, 10min);
    timer_on<clock> other(context, 20min);
    int ends = 0;
    timer.async_wait([&](std::error_code error) { ends += !error; });
    other.async_wait([&](std::error_code error) { ends += !error; });
    clock::set(1h + 9min);
    CHECK(fired(context) == 0);
    clock::set(30min);
    CHECK(fired(context) == 0);
    clock::set(1h + 9min + 59s);
    CHECK(fired(context) == 0);
    clock::set(2h);
    CHECK(fired(context) == 2);
    CHECK(ends == 2);
    // The clock is set back to before a time that has passed. A new wait for that time waits for it again.
    clock::set(1h + 5min);
    timer.async_wait([&](std::error_code error) { ends += !error; });
    CHECK(context.queued() == 0);
    CHECK(fired(context) == 0);
    clock::set(1h + 10min);
    CHECK(fired(context) == 1);
    CHECK(ends == 3);
}

TEST_CASE("A context looks at a clock that may be set within a tenth of a second, and at none in vain") {
    using clock = hand_clock<std::chrono::seconds, struct looked_at>;
    clock::set(1h);
    hand_driven context;
    timer_on<clock> timer(context, 1h);
    timer.async_wait([](std::error_code) {});
    const auto in_ns = context.alarm()->next_ns() - static_cast<std::int64_t>(sys::now_ns());
    CHECK(in_ns <= 100'000'000);
    timer.cancel();
    context.run_all();
    context.ring();
    CHECK(context.alarm()->next_ns() == INT64_MAX);
}

TEST_CASE("A jump of a clock fires its timers without anybody's help") {
    using clock = hand_clock<std::chrono::seconds, struct jumps>;
    clock::set(1h);
    hand_driven context(false); // the timers' own thread
    timer_on<clock> timer(context, 1h);
    timer.async_wait([](std::error_code) {});
    clock::set(3h);
    while (context.queued() == 0) std::this_thread::yield();
    CHECK(context.run_all() == 1);
}

TEST_CASE("A jump of one clock does nothing to the timers of another") {
    using clock = hand_clock<std::chrono::seconds, struct of_another>;
    clock::set(1h);
    hand_driven context;
    timer_on<std::chrono::steady_clock> steady(context, 1h);
    timer_on<clock> jumping(context, 1h);
    steady.async_wait([](std::error_code) {});
    jumping.async_wait([](std::error_code) {});
    clock::set(1000h);
    CHECK(fired(context) == 1);
    clock::set(0h);
    CHECK(fired(context) == 0);
    CHECK(steady.cancel() == 1);
    CHECK(jumping.cancel() == 0);
    context.run_all();
}

TEST_CASE("The system's clock: a timer in the past fires at once, one in the future waits") {
    hand_driven context;
    basic_waitable_timer<std::chrono::system_clock> past(context, -1h);
    system_timer future(context, 1h);
    past.async_wait([](std::error_code error) { CHECK_FALSE(error); });
    future.async_wait([](std::error_code error) { CHECK(error); });
    CHECK(fired(context) == 1);
    CHECK(fired(context) == 0);
    CHECK(future.cancel() == 1);
    context.run_all();
    system_timer soon(context, 2ms);
    soon.wait();
    CHECK(std::chrono::system_clock::now() >= soon.expiry());
}

TEST_CASE("wait() of a clock that may be set looks at it again and again") {
    using clock = hand_clock<std::chrono::seconds, struct waited_for>;
    clock::set(1h);
    hand_driven context;
    timer_on<clock> timer(context, 1h);
    std::thread setter([] { clock::set(2h); });
    timer.wait();
    setter.join();
    CHECK(clock::now() >= timer.expiry());
}

// ---- the limits of time

namespace {

template <class Clock>
void check_ends_of_time(typename Clock::duration now) {
    using time_point = typename Clock::time_point;
    using duration = typename Clock::duration;
    Clock::set(now);
    hand_driven context;
    int ends = 0;
    const auto count = [&](std::error_code error) { ends += !error; };
    timer_on<Clock> last(context, time_point::max());
    timer_on<Clock> first(context, time_point::min());
    CHECK(last.expiry() == time_point::max());
    last.async_wait(count);
    first.async_wait(count);
    CHECK(fired(context) == 1); // the first timer
    timer_on<Clock> long_ago(context, duration::min());
    timer_on<Clock> for_ever(context, duration::max());
    CHECK(long_ago.expiry() <= Clock::now());
    CHECK(for_ever.expiry() >= Clock::now());
    for_ever.async_wait(count);
    long_ago.async_wait(count);
    CHECK(fired(context) == 1);
    CHECK(fired(context) == 0);
    CHECK(last.cancel() + for_ever.cancel() == 2);
    CHECK(context.run_all() == 2);
    CHECK(ends == 2);
}

} // namespace

TEST_CASE("The ends of time are kept in any unit and representation") {
    using namespace std::chrono;
    check_ends_of_time<hand_clock<nanoseconds, struct in_ns>>(1h);
    check_ends_of_time<hand_clock<nanoseconds, struct before_epoch>>(-1h);
    check_ends_of_time<hand_clock<seconds, struct in_s>>(1h);
    check_ends_of_time<hand_clock<duration<std::int64_t, std::ratio<1, 3>>, struct in_thirds>>(1h);
    check_ends_of_time<hand_clock<duration<std::int32_t>, struct in_32_bits>>(1h);
    check_ends_of_time<hand_clock<duration<double>, struct in_double>>(1h);
    check_ends_of_time<hand_clock<duration<std::uint32_t>, struct without_sign>>(seconds(7));
}

TEST_CASE("A steady timer without end is never due, and can be canceled") {
    hand_driven context;
    steady_timer timer(context, steady_timer::time_point::max());
    steady_timer by_distance(context, steady_timer::duration::max());
    CHECK(by_distance.expiry() == steady_timer::time_point::max());
    int ends = 0;
    timer.async_wait([&](std::error_code) { ++ends; });
    by_distance.async_wait([&](std::error_code) { ++ends; });
    CHECK(fired(context) == 0);
    CHECK(timer.cancel() + by_distance.cancel() == 2);
    CHECK(context.run_all() == 2);
    timer.expires_at(steady_timer::time_point::min());
    timer.async_wait([&](std::error_code error) { ends += error ? 0 : 10; });
    CHECK(fired(context) == 1);
    CHECK(ends == 12);
}

TEST_CASE("A clock in fractions of a second is met to the nanosecond, never early") {
    using clock = hand_clock<std::chrono::duration<double>, struct fractions>;
    clock::set(std::chrono::duration<double>(1.0));
    hand_driven context;
    timer_on<clock> timer(context, std::chrono::duration<double>(1e-7));
    timer.async_wait([](std::error_code) {});
    clock::set(std::chrono::duration<double>(1.0 + 0.9e-7));
    CHECK(fired(context) == 0);
    clock::set(std::chrono::duration<double>(1.0 + 2e-7));
    CHECK(fired(context) == 1);
}

namespace {

/// A clock that can delay its readers. Timers read it with their locks held.
struct held_clock {
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<held_clock>;

    static inline std::atomic<bool> holds{false};
    static inline std::atomic<bool> has_somebody{false};

    static time_point now() noexcept {
        while (holds) has_somebody = true;
        return time_point(1h);
    }
};

} // namespace

TEST_CASE("rule: a timer on which nobody waits is canceled without a lock") {
    hand_driven context;
    timer_on<held_clock> timer(context);
    timer.expires_at(held_clock::time_point(3h));
    timer.async_wait([](std::error_code) {});
    CHECK(timer.cancel() == 1);
    CHECK(context.run_all() == 1);
    timer.expires_at(held_clock::time_point(2h));
    held_clock::holds = true;
    std::thread other([&] { timer.async_wait([](std::error_code) {}); });
    while (!held_clock::has_somebody) std::this_thread::yield();
    // The other thread holds the lock of the timer and the lock of this clock's timers, and cannot continue:
    CHECK(timer.cancel() == 0);
    CHECK(timer.cancel_one() == 0);
    held_clock::holds = false;
    other.join();
    CHECK(timer.cancel() == 1);
    context.run_all();
}
