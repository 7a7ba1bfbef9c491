// The forms of a timer's wait(): success, time-out, and a stop requested before or during the call.
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/timer/steady_timer.hpp>
#include <ekiden/timer/system_timer.hpp>

#include <tests/unit/asleep.hpp>

#include "hand_driven.hpp"
#include <doctest/doctest.h>

#include <chrono>
#include <stop_token>
#include <thread>

using namespace std::chrono_literals;
using ekiden::loop_context;
using ekiden::steady_timer;
using ekiden::system_timer;
using ekiden::wait_limit;
using ekiden_test::start_asleep;

namespace {

constexpr auto long_enough = 1h;

/// A clock that stands still until a test sets it.
using set_clock = ekiden_test::hand_clock<std::chrono::hours>;
using set_timer = ekiden::basic_waitable_timer<set_clock, ekiden_test::hand_driven::executor_type>;

} // namespace

TEST_CASE_TEMPLATE("each form of a timer's wait succeeds at the expiry", Timer, steady_timer, system_timer) {
    loop_context loop;
    const std::stop_source source;
    Timer timer(loop);
    const auto soon = [&]() -> Timer& {
        timer.expires_after(1ms);
        return timer;
    };
    soon().wait();
    CHECK(Timer::now() >= timer.expiry());
    CHECK(soon().wait(source.get_token()));
    CHECK(soon().wait(wait_limit()));
    CHECK(soon().wait(wait_limit::after(long_enough).with(source.get_token())));
    CHECK(soon().wait_for(long_enough));
    CHECK(soon().wait_until(std::chrono::steady_clock::now() + long_enough));
    CHECK(soon().wait_until(std::chrono::system_clock::now() + long_enough));
    CHECK(Timer::now() >= timer.expiry());
}

TEST_CASE_TEMPLATE("a timer's wait succeeds at once if it has expired, although the limit is reached", Timer,
                   steady_timer, system_timer) {
    loop_context loop;
    Timer timer(loop, Timer::now() - 1s);
    std::stop_source source;
    source.request_stop();
    CHECK(timer.wait(source.get_token()));
    CHECK(timer.wait_for(-1s));
    CHECK(timer.wait_until(std::chrono::steady_clock::time_point::min()));
}

TEST_CASE_TEMPLATE("a timer's wait gives up at its time, and the timer stays as it is", Timer, steady_timer,
                   system_timer) {
    loop_context loop;
    Timer timer(loop);
    timer.expires_after(long_enough);
    const auto expiry = timer.expiry();
    int calls = 0;
    timer.async_wait([&](std::error_code) { ++calls; });
    CHECK_FALSE(timer.wait(wait_limit::after(1ms)));
    CHECK_FALSE(timer.wait_for(1ms));
    CHECK_FALSE(timer.wait_for(0s));
    CHECK_FALSE(timer.wait_until(std::chrono::steady_clock::now() + 1ms));
    CHECK_FALSE(timer.wait_until(std::chrono::system_clock::now() + 1ms));
    CHECK(timer.expiry() == expiry);
    CHECK(timer.cancel() == 1);
    loop.run();
    CHECK(calls == 1);
}

TEST_CASE_TEMPLATE("a timer's wait gives up at a stop request, before the call or during it", Timer,
                   steady_timer, system_timer) {
    loop_context loop;
    Timer timer(loop);
    timer.expires_after(long_enough);
    std::stop_source before;
    before.request_stop();
    CHECK_FALSE(timer.wait(before.get_token()));
    CHECK_FALSE(timer.wait(wait_limit::after(long_enough).with(before.get_token())));

    std::stop_source during;
    bool is_expired = true;
    std::thread waits([&] { is_expired = timer.wait(during.get_token()); });
    during.request_stop();
    waits.join();
    CHECK_FALSE(is_expired);
}

TEST_CASE("a stop request ends a timer's wait that sleeps") {
    loop_context loop;
    steady_timer timer(loop);
    timer.expires_after(long_enough);
    std::stop_source source;
    bool is_expired = true;
    std::thread waits = start_asleep([&] { is_expired = timer.wait(source.get_token()); });
    source.request_stop();
    waits.join();
    CHECK_FALSE(is_expired);
}

TEST_CASE("a timer of a clock that is set waits with a limit until the clock shows the expiry") {
    set_clock::set(1h);
    ekiden_test::hand_driven context;
    set_timer timer(context, set_clock::time_point(2h));
    CHECK_FALSE(timer.wait_for(1ms));
    std::thread waits = start_asleep([&] { CHECK(timer.wait_for(24h)); });
    set_clock::set(2h);
    waits.join();
    CHECK(timer.wait_for(0s));
}
