#include <ekiden/timer/steady_timer.hpp>

#include "../effort.hpp"
#include "../failing_allocations.hpp"
#include "hand_driven.hpp"
#include <doctest/doctest.h>
#include <ekiden/execution/bind_allocator.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::hand_clock;
using ekiden_test::hand_driven;

const std::error_code canceled = std::make_error_code(std::errc::operation_canceled);

/// Time that the test sets, in whole seconds.
using test_clock = hand_clock<std::chrono::seconds>;
using test_timer = basic_waitable_timer<test_clock, hand_driven::executor_type>;

/// A context whose time starts at 100 s. Tests set the clock and fire the timers.
struct timed_context : hand_driven {
    timed_context() { test_clock::set(100s); }
};

/// Records how its handlers end.
struct record {
    std::vector<std::string> ends;

    auto handler(std::string name) {
        return [this, name = std::move(name)](std::error_code error) {
            CHECK((!error || error == canceled));
            ends.push_back(name + (error ? " canceled" : ""));
        };
    }
};

using strings = std::vector<std::string>;

} // namespace

TEST_CASE("A timer takes at most 96 bytes, with what it shares with its waits") {
    CHECK(sizeof(basic_waitable_timer<std::chrono::steady_clock, thread_pool::executor_type>)
              + sizeof(timer_state)
          <= 96);
    CHECK(sizeof(steady_timer) <= 48);
}

// ---- waits

TEST_CASE("A handler is called when its time has come, and not before") {
    timed_context context;
    record seen;
    test_timer timer(context, 3s);
    CHECK(timer.expiry() == test_clock::time_point(103s));
    timer.async_wait(seen.handler("a"));
    for (const auto time : {100s, 101s, 102s}) {
        test_clock::set(time);
        context.ring();
        CHECK(context.queued() == 0);
    }
    test_clock::set(103s);
    context.ring();
    CHECK(seen.ends.empty()); // never inside of the ring
    CHECK(context.run_all() == 1);
    CHECK(seen.ends == strings{"a"});
}

TEST_CASE("A wait for a time that has passed ends at the context's next look, in the order of the waits") {
    timed_context context;
    record seen;
    test_timer timer(context, test_clock::time_point(50s));
    timer.async_wait(seen.handler("50"));
    test_timer at_once(context, 0s);
    at_once.async_wait(seen.handler("100"));
    test_timer by_default(context);
    CHECK(by_default.expiry() == test_clock::time_point());
    by_default.async_wait(seen.handler("0"));
    CHECK(context.alarm()->next_ns() <= static_cast<std::int64_t>(sys::now_ns()));
    CHECK(context.queued() == 0);
    context.ring();
    CHECK(seen.ends.empty());
    CHECK(context.run_all() == 3);
    CHECK(seen.ends == strings{"50", "100", "0"});
}

TEST_CASE(
    "A wait for a time that has passed is posted at once, never called, where the context cannot ring") {
    hand_driven context(false);
    test_clock::set(100s);
    record seen;
    for (const char* const name : {"a", "b"}) { // the thread has not, and has, looked at the clock
        test_timer timer(context, test_clock::time_point(50s));
        timer.async_wait(seen.handler(name));
        CHECK(context.queued() == 1);
        CHECK(seen.ends.size() == (name == std::string("a") ? 0 : 1));
        CHECK(context.run_all() == 1);
        CHECK(timer.cancel() == 0);
    }
    CHECK(seen.ends == strings{"a", "b"});
}

TEST_CASE("Several waits of one timer end in the order in which they began, with others in that of expiry") {
    timed_context context;
    record seen;
    test_timer late(context, 4s);
    test_timer early(context, 2s);
    late.async_wait(seen.handler("late 1"));
    early.async_wait(seen.handler("early 1"));
    late.async_wait(seen.handler("late 2"));
    early.async_wait(seen.handler("early 2"));
    early.async_wait(seen.handler("early 3"));
    test_clock::set(110s);
    context.ring();
    early.async_wait(seen.handler("early 4")); // expired already
    context.ring();
    context.run_all();
    CHECK(seen.ends == strings{"early 1", "early 2", "early 3", "late 1", "late 2", "early 4"});
}

TEST_CASE("A pending wait is outstanding work until its handler begins") {
    timed_context context;
    test_timer timer(context, 1s);
    long during = -1;
    timer.async_wait([&](std::error_code) { during = context.work(); });
    CHECK(context.work() == 1);
    timer.async_wait([](std::error_code) {});
    CHECK(context.work() == 2);
    test_clock::set(101s);
    context.ring();
    CHECK(context.work() == 2);
    context.run_one();
    CHECK(during == 1);
    CHECK(context.work() == 1);
    timer.cancel();
    context.run_all();
    CHECK(context.work() == 0);
}

TEST_CASE("wait() returns when the time has come") {
    thread_pool pool({.threads = 1});
    steady_timer timer(pool, 2ms);
    timer.wait();
    CHECK(std::chrono::steady_clock::now() >= timer.expiry());
    pool.submit([&] {
            timer.expires_after(1ms);
            timer.wait();
        })
        .get();
    CHECK(std::chrono::steady_clock::now() >= timer.expiry());
    timer.expires_at(std::chrono::steady_clock::time_point::min());
    timer.wait();
}

// ---- cancellation

TEST_CASE("cancel() counts what has not expired, and each of that reports so, posted") {
    timed_context context;
    record seen;
    test_timer timer(context, 1s);
    CHECK(timer.cancel() == 0);
    timer.async_wait(seen.handler("a"));
    timer.async_wait(seen.handler("b"));
    CHECK(timer.cancel() == 2);
    CHECK(seen.ends.empty());
    CHECK(timer.cancel() == 0);
    CHECK(context.run_all() == 2);
    CHECK(seen.ends == strings{"a canceled", "b canceled"});
    timer.async_wait(seen.handler("c")); // it can be used again
    test_clock::set(101s);
    context.ring();
    context.run_all();
    CHECK(seen.ends.back() == "c");
}

TEST_CASE("cancel() counts what has expired and is queued, and each of that reports so") {
    timed_context context;
    record seen;
    test_timer timer(context, 1s);
    for (const char* const name : {"a", "b", "c"}) timer.async_wait(seen.handler(name));
    test_clock::set(101s);
    context.ring();
    CHECK(context.queued() == 3);
    CHECK(context.run_one());
    CHECK(timer.cancel() == 2);
    CHECK(timer.cancel() == 0);
    context.run_all();
    CHECK(seen.ends == strings{"a", "b canceled", "c canceled"});
}

TEST_CASE(
    "The article's program: a handler that was posted first cancels a timer of 1 ns, and that reports so") {
    for (int round = 0; round != ekiden_test::rounds(1000); ++round) {
        hand_driven context;
        std::size_t counted = 0;
        int reports = 0;
        steady_timer timer(context, 1ns);
        timer.async_wait([&](std::error_code error) { reports += error == canceled; });
        context.get_executor().post([&] { counted = timer.cancel(); });
        if (round % 2 == 0) {
            while (std::chrono::steady_clock::now() < timer.expiry()) {
            }
            context.ring(); // its handler is queued now, behind the one that cancels
            CHECK(context.queued() == 2);
        }
        context.run();
        CHECK(counted == 1);
        CHECK(reports == 1);
    }
}

TEST_CASE(
    "rule: With several threads too all handlers that have expired and are queued report so when canceled") {
    thread_pool pool({.threads = 2});
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        std::atomic<int> reports{0};
        steady_timer timer(pool, 1ns);
        pool.pause(); // its workers begin nothing
        for (int i = 0; i != 3; ++i)
            timer.async_wait([&](std::error_code error) { reports += error == canceled ? 1 : 0; });
        CHECK(timer.cancel() == 3);
        pool.resume();
        pool.wait_idle();
        CHECK(reports.load() == 3);
    }
}

TEST_CASE("expires_at and expires_after cancel what waits, queued handlers too, and say how many") {
    timed_context context;
    record seen;
    test_timer timer(context, 1s);
    CHECK(timer.expires_after(2s) == 0);
    timer.async_wait(seen.handler("a"));
    CHECK(timer.expires_at(test_clock::time_point(105s)) == 1);
    timer.async_wait(seen.handler("b"));
    test_clock::set(105s);
    context.ring();
    CHECK(context.queued() == 2);
    CHECK(timer.expires_after(10s) == 1);
    CHECK(timer.expiry() == test_clock::time_point(115s));
    timer.async_wait(seen.handler("c"));
    context.run_all();
    CHECK(seen.ends == strings{"a canceled", "b canceled"});
    test_clock::set(115s);
    context.ring();
    context.run_all();
    CHECK(seen.ends.back() == "c");
}

TEST_CASE("cancel_one() takes the oldest wait that has not begun") {
    timed_context context;
    record seen;
    test_timer timer(context, 1s);
    CHECK(timer.cancel_one() == 0);
    for (const char* const name : {"a", "b", "c", "d", "e"}) timer.async_wait(seen.handler(name));
    CHECK(timer.cancel_one() == 1);
    CHECK(context.run_all() == 1);
    CHECK(seen.ends == strings{"a canceled"});
    test_clock::set(101s);
    context.ring();
    context.run_one(); // b
    CHECK(timer.cancel_one() == 1);
    CHECK(timer.cancel_one() == 1);
    CHECK(timer.cancel() == 1);
    CHECK(timer.cancel_one() == 0);
    context.run_all();
    CHECK(seen.ends == strings{"a canceled", "b", "c canceled", "d canceled", "e canceled"});
}

TEST_CASE("The last wait that cancel_one() takes leaves the timer in no wheel") {
    timed_context context;
    record seen;
    test_timer timer(context, 1s);
    timer.async_wait(seen.handler("a"));
    CHECK(timer.cancel_one() == 1);
    test_clock::set(101s);
    context.ring();
    CHECK(context.run_all() == 1);
    timer.async_wait(seen.handler("b"));
    context.ring();
    CHECK(context.run_all() == 1);
    CHECK(seen.ends == strings{"a canceled", "b"});
}

TEST_CASE("The end of a timer cancels what waits and what is queued") {
    timed_context context;
    record seen;
    {
        test_timer expired(context, 1s);
        test_timer waiting(context, 9s);
        expired.async_wait(seen.handler("a"));
        waiting.async_wait(seen.handler("b"));
        test_clock::set(101s);
        context.ring();
        CHECK(context.queued() == 1);
    }
    CHECK(context.run_all() == 2);
    CHECK(seen.ends == strings{"a canceled", "b canceled"});
}

TEST_CASE("A moved timer takes its waits along, and what is left is as new") {
    timed_context context;
    record seen;
    test_timer first(context, 1s);
    first.async_wait(seen.handler("a"));
    test_timer second(std::move(first));
    CHECK(first.cancel() == 0); // NOLINT: that is the point
    CHECK(second.expiry() == test_clock::time_point(101s));
    first.expires_after(2s);
    first.async_wait(seen.handler("b"));
    test_timer third(context, 5s);
    third.async_wait(seen.handler("c"));
    third = std::move(second);
    CHECK(context.run_all() == 1);
    CHECK(third.cancel() == 1);
    context.run_all();
    CHECK(seen.ends == strings{"c canceled", "a canceled"});
    test_clock::set(110s);
    context.ring();
    context.run_all();
    CHECK(seen.ends.back() == "b");
    auto& self = third;
    third = std::move(self);
    CHECK(third.expiry() == test_clock::time_point(101s));
}

// ---- where handlers run, and their memory

TEST_CASE("A handler runs on its own executor, and both contexts have work until then") {
    timed_context context;
    hand_driven other;
    record seen;
    test_timer timer(context, 1s);
    timer.async_wait(bind_executor(other, seen.handler("a")));
    timer.async_wait(bind_executor(context, seen.handler("b")));
    CHECK(context.work() == 2);
    CHECK(other.work() == 1);
    test_clock::set(101s);
    context.ring();
    CHECK(context.queued() == 1);
    CHECK(other.queued() == 1);
    CHECK(other.run_all() == 1);
    CHECK(other.work() == 0);
    CHECK(context.work() == 1);
    CHECK(context.run_all() == 1);
    CHECK(seen.ends == strings{"a", "b"});
    CHECK(context.work() == 0);
}

TEST_CASE("use_future gets the end of a wait, and its cancellation as an exception") {
    thread_pool pool({.threads = 1});
    steady_timer timer(pool, 1ms);
    timer.async_wait(use_future).get();
    CHECK(std::chrono::steady_clock::now() >= timer.expiry());
    timer.expires_after(std::chrono::hours(1));
    auto never = timer.async_wait(use_future);
    CHECK(timer.cancel() == 1);
    try {
        never.get();
        FAIL("no exception");
    } catch (const std::system_error& error) {
        CHECK(error.code() == canceled);
    }
}

TEST_CASE("Handlers need only be movable, and keep what they own until they have run") {
    timed_context context;
    test_timer timer(context, 1s);
    int got = 0;
    timer.async_wait([own = std::make_unique<int>(7), &got](std::error_code) { got = *own; });
    timer.cancel();
    context.run_all();
    CHECK(got == 7);
}

TEST_CASE("Memory comes from the handler's allocator, and goes back before the handler is called") {
    struct counting : std::pmr::memory_resource {
        long live = 0;
        long total = 0;
        void* do_allocate(std::size_t bytes, std::size_t alignment) override {
            ++live;
            ++total;
            return std::pmr::new_delete_resource()->allocate(bytes, alignment);
        }
        void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
            --live;
            std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
        }
        bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
    } memory;
    {
        timed_context context;
        test_timer timer(context, 1s);
        const auto bound = [&](auto handler) {
            return bind_allocator(std::pmr::polymorphic_allocator<>(&memory), std::move(handler));
        };
        long during = -1;
        timer.async_wait(bound([&](std::error_code) { during = memory.live; }));
        CHECK(memory.live == 1);
        timer.cancel();
        context.run_all();
        CHECK(during == 0);
        timer.async_wait(bound([](std::error_code) { FAIL("the context ends first"); }));
        CHECK(memory.live == 1);
    }
    CHECK(memory.live == 0);
    CHECK(memory.total == 2);
}

TEST_CASE("In the long run a wait allocates nothing") {
    timed_context context;
    basic_waitable_timer<test_clock> timer(context);
    std::size_t ran = 0;
    const auto rounds = [&](int count) {
        for (int i = 0; i != count; ++i) {
            timer.expires_after(1s);
            timer.async_wait([&](std::error_code) { ++ran; });
            if (i % 2 == 0) {
                test_clock::set(std::chrono::seconds(200 + ran));
                context.ring();
            } else {
                timer.cancel();
            }
            context.run_all();
            basic_waitable_timer<test_clock> other(context, 1s);
            other.async_wait([&](std::error_code) { ++ran; });
        }
        context.run_all();
    };
    rounds(1000); // the test's own queue grows too
    const long before = ekiden_test::allocation_count();
    rounds(1000);
    CHECK(ekiden_test::allocation_count() - before <= 2 * 1000 / 32 + 1); // std::deque's nodes, at the most
    CHECK(ran == 4000);
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("A wait for which there is no memory leaves nothing behind") {
    timed_context context;
    record seen;
    struct large {
        record* seen;
        std::byte padding[512];
        void operator()(std::error_code) const { seen->ends.emplace_back("large"); }
    };
    for (long n = 0;; ++n) {
        test_timer timer(context, 1s);
        {
            const ekiden_test::failing_allocation failing(n);
            try {
                timer.async_wait(large{&seen, {}});
            } catch (const std::bad_alloc&) {
            }
            if (!failing.has_failed()) break;
        }
        CHECK(context.work() == 0);
        CHECK(timer.cancel() == 0);
        CHECK(n < 100);
    }
    CHECK(context.run_all() == 1);
}
#endif

// ---- how the context is driven

TEST_CASE("The context is told when the next alarm becomes earlier, and only then") {
    timed_context context;
    test_timer first(context, 50s);
    first.async_wait([](std::error_code) {});
    CHECK(context.moves() == 1);
    test_timer later(context, 60s);
    later.async_wait([](std::error_code) {});
    CHECK(context.moves() == 1);
    test_timer earlier(context, 40s);
    earlier.async_wait([](std::error_code) {});
    CHECK(context.moves() == 2);
    earlier.cancel();
    earlier.async_wait([](std::error_code) {}); // no earlier than what the context knows
    CHECK(context.moves() == 2);
}

TEST_CASE("The next alarm is the next deadline, to the nanosecond, and none when nobody waits") {
    hand_driven context;
    steady_timer timer(context, 10s);
    timer.async_wait([](std::error_code) {});
    REQUIRE(context.alarm() != nullptr);
    CHECK(context.alarm()->next_ns() == timer.expiry().time_since_epoch().count());
    steady_timer nearer(context, 5s);
    nearer.async_wait([](std::error_code) {});
    CHECK(context.alarm()->next_ns() == nearer.expiry().time_since_epoch().count());
    nearer.cancel();
    timer.cancel();
    context.ring();
    CHECK(context.alarm()->next_ns() == INT64_MAX);
}

TEST_CASE("Timers of a context that cannot ring fire all the same") {
    hand_driven context(false);
    record seen;
    basic_waitable_timer<std::chrono::steady_clock> late(context, 300ms);
    basic_waitable_timer<std::chrono::steady_clock> early(context, 1ms);
    late.async_wait(seen.handler("late"));
    early.async_wait(seen.handler("early"));
    const bool is_in_time = std::chrono::steady_clock::now() < late.expiry(); // else `late` may be the first
    while (context.queued() != 2) std::this_thread::yield();
    CHECK(std::chrono::steady_clock::now() >= late.expiry());
    context.run_all();
    CHECK(seen.ends.size() == 2);
    if (is_in_time) CHECK(seen.ends == strings{"early", "late"});
}

TEST_CASE("A pool's timers fire in its workers, never early") {
    thread_pool pool({.threads = 2});
    std::atomic<int> early{0};
    std::atomic<int> strangers{0};
    std::vector<std::unique_ptr<steady_timer>> timers;
    for (int i = 0; i != 200; ++i) {
        timers.push_back(std::make_unique<steady_timer>(pool, std::chrono::microseconds(37 * i)));
        timers.back()->async_wait([&, expiry = timers.back()->expiry()](std::error_code error) {
            CHECK_FALSE(error);
            if (std::chrono::steady_clock::now() < expiry) early.fetch_add(1);
            if (!pool.running_in_this_thread()) strangers.fetch_add(1);
        });
    }
    pool.join(); // waits for outstanding work
    CHECK(early.load() == 0);
    CHECK(strangers.load() == 0);
}

TEST_CASE("cancel_and_wait also cancels the wait that a running handler begins meanwhile") {
    for (int round = 0; round != ekiden_test::rounds(20); ++round) {
        thread_pool pool(1);
        steady_timer timer(pool);
        std::atomic<bool> is_inside{false};
        std::atomic<bool> is_canceling{false};
        std::atomic<int> after{0};
        timer.expires_after(0s);
        timer.async_wait([&](std::error_code) {
            is_inside.store(true);
            while (!is_canceling.load()) std::this_thread::yield();
            std::this_thread::sleep_for(2ms); // the other thread waits
            timer.expires_after(1h);
            timer.async_wait([&](std::error_code error) { after.fetch_add(error == canceled ? 1 : 100); });
        });
        while (!is_inside.load()) std::this_thread::yield();
        is_canceling.store(true);
        CHECK(timer.cancel_and_wait() == 1);
        CHECK(timer.cancel() == 0); // none is left
        pool.wait_idle();
        CHECK(after == 1);
    }
}
