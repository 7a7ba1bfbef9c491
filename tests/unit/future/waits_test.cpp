// Each form of waiting for a future: the result comes, the time passes, a stop is requested before or
// meanwhile; in a thread, in a worker of a pool, in a simulation, in the child of a fork.
#include "code_of.hpp"

#include <ekiden/context/simulated.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/future/ready_future.hpp>
#include <ekiden/future/shared_future.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sim/sim_context.hpp>
#include <ekiden/sync/event.hpp>

#include <tests/unit/asleep.hpp>
#include <tests/unit/child_process.hpp>
#include <tests/unit/failing_allocations.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

using namespace std::chrono_literals;
using ekiden::make_exceptional_future;
using ekiden::make_ready_future;
using ekiden::promise;
using ekiden::wait_limit;

namespace {

/// Calls `wait` with each form of a limit that is never reached in a test.
template <class Future, class Wait>
void with_each_far_limit(const Future& f, Wait&& wait) {
    const std::stop_source never;
    wait([&] { return f.wait(never.get_token()); });
    wait([&] { return f.wait(wait_limit()); });
    wait([&] { return f.wait(wait_limit(never.get_token())); });
    wait([&] { return f.wait(wait_limit::after(1h)); });
    wait([&] { return f.wait(wait_limit::after(1h).with(never.get_token())); });
    wait([&] { return f.wait_for(1h); });
    wait([&] { return f.wait_until(std::chrono::system_clock::now() + 1h); });
}

std::stop_token requested() {
    std::stop_source source;
    source.request_stop();
    return source.get_token();
}

} // namespace

TEST_CASE("Each form of a wait finds a result that is there, also when its limit has been reached") {
    promise<int> source;
    const auto result = source.get_future();
    source.set_value(1);
    with_each_far_limit(result, [](auto wait) { CHECK(wait()); });
    CHECK(result.wait(requested()));
    CHECK(result.wait(wait_limit::after(0s)));
    CHECK(result.wait_for(0s));
    CHECK(result.wait_until(std::chrono::steady_clock::time_point::min()));
}

TEST_CASE("Each form of a wait ends when the result comes") {
    const auto check = [](auto wait) {
        promise<int> source;
        const auto result = source.get_future();
        std::thread waiter = ekiden_test::start_asleep([&] { CHECK(wait(result)); });
        source.set_value(1);
        waiter.join();
    };
    const std::stop_source never;
    check([](const auto& f) { return f.wait(), true; });
    check([](const auto& f) { return f.wait(ekiden::blocking), true; });
    check([&](const auto& f) { return f.wait(never.get_token()); });
    check([&](const auto& f) { return f.wait(wait_limit::after(1h).with(never.get_token())); });
    check([](const auto& f) { return f.wait(wait_limit::after(1h)); });
    check([](const auto& f) { return f.wait(wait_limit()); });
    check([](const auto& f) { return f.wait_for(1h); });
    check([](const auto& f) { return f.wait_until(std::chrono::system_clock::now() + 1h); });
}

TEST_CASE("A wait whose time has passed, or whose stop was requested before, only checks") {
    promise<int> source;
    auto result = source.get_future();
    const std::stop_source never;
    CHECK_FALSE(result.wait(requested()));
    CHECK_FALSE(result.wait(wait_limit(requested())));
    CHECK_FALSE(result.wait(wait_limit::after(1h).with(requested())));
    CHECK_FALSE(result.wait(wait_limit::after(0s).with(never.get_token())));
    CHECK_FALSE(result.wait(wait_limit::after(0s)));
    CHECK_FALSE(result.wait_for(-1s));
    CHECK_FALSE(result.wait_until(std::chrono::steady_clock::time_point::min()));
    CHECK(result.valid());
    source.set_value(1);
    CHECK(result.get() == 1);
}

TEST_CASE("A wait with a stop token ends at its time, too") {
    promise<int> source;
    const auto result = source.get_future();
    const std::stop_source never;
    CHECK_FALSE(result.wait(wait_limit::after(5ms).with(never.get_token())));
    const auto deadline = std::chrono::system_clock::now() + 5ms;
    CHECK_FALSE(result.wait(wait_limit::until(deadline).with(never.get_token())));
    source.set_value(1);
    CHECK(result.wait(wait_limit::after(5ms).with(never.get_token())));
}

TEST_CASE("A stop that is requested during a wait ends it, and the result can still be taken") {
    const auto check = [](auto make_limit) {
        promise<std::string> source;
        auto result = source.get_future();
        std::stop_source stop;
        std::thread waiter =
            ekiden_test::start_asleep([&] { CHECK_FALSE(result.wait(make_limit(stop.get_token()))); });
        stop.request_stop();
        waiter.join();
        source.set_value("late");
        CHECK(result.get() == "late");
    };
    check([](std::stop_token token) { return token; });
    check([](std::stop_token token) { return wait_limit(std::move(token)); });
    check([](std::stop_token token) { return wait_limit::after(1h).with(std::move(token)); });
}

TEST_CASE("A stop that is requested while the result comes leaves nothing behind") {
    for (int i = 0; i != 2000; ++i) {
        promise<int> source;
        std::stop_source stop;
        auto result = std::make_unique<ekiden::future<int>>(source.get_future());
        std::thread producer([&] { source.set_value(i); });
        std::thread stopper([&] { stop.request_stop(); });
        if (result->wait(stop.get_token())) CHECK(result->get() == i);
        result.reset();
        producer.join();
        stopper.join();
    }
}

TEST_CASE("Copies of a shared_future wait with limits of their own") {
    promise<int> source;
    const ekiden::shared_future<int> one = source.get_future();
    std::stop_source stop;
    std::thread stopped =
        ekiden_test::start_asleep([two = one, &stop] { CHECK_FALSE(two.wait(stop.get_token())); });
    std::thread patient = ekiden_test::start_asleep([two = one] { CHECK(two.wait_for(1h)); });
    std::thread other = ekiden_test::start_asleep([two = one, &stop] {
        CHECK(two.wait(wait_limit::after(1h).with(std::stop_source().get_token())));
        (void)stop;
    });
    stop.request_stop();
    stopped.join();
    source.set_value(3);
    patient.join();
    other.join();
    CHECK(one.get() == 3);
    with_each_far_limit(one, [](auto wait) { CHECK(wait()); });
}

TEST_CASE("A worker that waits with a stop token runs nothing meanwhile, and ends at the stop") {
    ekiden::thread_pool pool(1);
    promise<int> source;
    const auto result = source.get_future();
    std::stop_source stop;
    ekiden::event waits;
    bool has_run = false;
    auto came = pool.submit([&] {
        waits.set();
        const bool is_there = result.wait(stop.get_token());
        return is_there || has_run;
    });
    auto other = pool.submit([&] { has_run = true; });
    waits.wait();
    stop.request_stop();
    CHECK_FALSE(came.get());
    other.get();
    auto second = pool.submit([&] { return result.wait(wait_limit(std::stop_source().get_token())); });
    source.set_value(1);
    CHECK(second.get());
}

TEST_CASE("A worker that waits with a limit that cannot be reached runs other tasks meanwhile") {
    ekiden::thread_pool pool(1);
    auto outer = pool.submit([&] {
        const auto inner = pool.submit([] { return 1; });
        return inner.wait(wait_limit()) && inner.wait(std::stop_token());
    });
    CHECK(outer.get());
}

TEST_CASE(
    "In a simulation a wait with a limit ends in virtual time, or at the stop that another step requests") {
    ekiden::sim_context sim;
    std::stop_source stop;
    promise<int> source;
    const auto result = source.get_future();
    const auto now = [] { return ekiden::now_here<ekiden::sys::clock>(); };
    const auto at_begin = now();
    CHECK_FALSE(result.wait_for(1h));
    CHECK(now() - at_begin == 1h);
    CHECK_FALSE(result.wait(wait_limit::after(1h).with(stop.get_token())));
    CHECK(now() - at_begin == 2h);
    sim.get_executor().post([&] { stop.request_stop(); });
    CHECK_FALSE(result.wait(stop.get_token()));
    CHECK_FALSE(result.wait(wait_limit::after(1h).with(stop.get_token())));
    CHECK(now() - at_begin == 2h);
    sim.get_executor().post([&] { source.set_value(1); });
    CHECK(result.wait(std::stop_source().get_token()));
    CHECK(result.wait(stop.get_token()));
}

TEST_CASE("In the child of a fork each form of a wait for a task of the parent throws") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    ekiden::thread_pool pool(1);
    pool.pause();
    auto result = pool.submit([] {});
    const auto child = ekiden_test::run_in_child([&] {
        const auto throws = [](auto wait) {
            try {
                (void)wait();
            } catch (const std::system_error& error) {
                return error.code() == std::errc::operation_not_permitted;
            }
            return false;
        };
        bool all = throws([&] { return result.wait(), true; });
        all = all && throws([&] { return result.wait(ekiden::blocking), true; });
        with_each_far_limit(result, [&](auto wait) { all = all && throws(wait); });
        all = all && throws([&] { return result.wait(requested()); });
        std::_Exit(all ? 7 : 1);
    });
    CHECK(child.exit_code == 7);
    pool.resume();
    result.get();
}

TEST_CASE("Each form of a wait of a future without a state throws") {
    const ekiden::future<int> empty;
    const auto no_state = std::make_error_code(std::future_errc::no_state);
    with_each_far_limit(empty, [&](auto wait) { CHECK(code_of([&] { (void)wait(); }) == no_state); });
}

TEST_CASE("A ready future has its value, and get() of an exceptional one throws") {
    auto number = make_ready_future(4);
    static_assert(std::is_same_v<decltype(number), ekiden::future<int>>);
    CHECK(number.is_ready());
    CHECK_FALSE(number.cancel());
    CHECK(number.get() == 4);
    CHECK_FALSE(number.valid());

    const std::string text(100, 'x');
    CHECK(make_ready_future(text).get() == text);
    CHECK(*make_ready_future(std::make_unique<int>(5)).get() == 5);
    int target = 6;
    auto reference = make_ready_future(std::ref(target));
    static_assert(std::is_same_v<decltype(reference), ekiden::future<int&>>);
    CHECK(&reference.get() == &target);
    auto nothing = make_ready_future();
    CHECK(nothing.is_ready());
    nothing.get();
    CHECK(make_ready_future(7).share().get() == 7);

    auto failed = make_exceptional_future<int>(std::runtime_error("why"));
    CHECK(failed.is_ready());
    CHECK_THROWS_WITH_AS(failed.get(), "why", std::runtime_error);
    CHECK_THROWS_AS(make_exceptional_future<void>(std::make_exception_ptr(3)).get(), int);
    CHECK_THROWS_AS((void)make_exceptional_future<int>(std::exception_ptr()), std::invalid_argument);
    CHECK_THROWS_AS((void)make_exceptional_future<int>(nullptr), std::invalid_argument);
}

TEST_CASE("A ready future is one allocation at most") {
    make_ready_future(1).get();
    const long before = ekiden_test::allocation_count();
    const auto number = make_ready_future(2);
    CHECK(ekiden_test::allocation_count() - before <= 1);
    CHECK(number.is_ready());
}

TEST_CASE("A ready future whose value cannot be copied is not made") {
    struct uncopied {
        uncopied() = default;
        uncopied(const uncopied&) { throw 5; }
    };
    const uncopied original;
    CHECK_THROWS_AS((void)make_ready_future(original), int);
}
