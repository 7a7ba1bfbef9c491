// Turns in lanes with capacities, and with close(), wait_idle(), depth(), metrics(), pause() and stop().
#include "run_coroutine.hpp"
#include "turn_support.hpp"

#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::bank;
using ekiden_test::code_of;
using ekiden_test::holder;
using ekiden_test::is_settled;
using ekiden_test::until;

namespace {

/// A coroutine that wants a turn. It runs on a loop of its own, so that a test decides when the lanes run.
class wanted_turn {
public:
    wanted_turn(const bank& of, std::vector<int> keys) {
        done_ = co_spawn(
            loop_,
            [this, &of, all = std::move(keys)]() -> coroutine<> {
                const auto turn = co_await async_turn(of, of.keys().write_all(all));
                has_begun = true;
            },
            use_future, spawn_options().stop(stop_.get_token()));
        run();
    }
    void run() {
        loop_.restart();
        loop_.poll();
    }
    void stop() {
        stop_.request_stop();
        run();
    }
    /// Returns the code of the exception of the coroutine, which must have ended.
    std::error_code code() {
        return code_of([&] { done_.get(); });
    }

    bool has_begun = false;

private:
    loop_context loop_;
    std::stop_source stop_;
    future<void> done_;
};

lanes_options capacity_of(bool is_bounded) { return {.lane_capacity = is_bounded ? 8U : 0U, .shards = 4}; }

} // namespace

// ---- metrics

TEST_CASE("a turn counts once as posted, and once as run or dropped, in whichever phase it is withdrawn") {
    for (const bool is_bounded : {false, true}) {
        CAPTURE(is_bounded);
        loop_context inner;
        const bank accounts(inner.get_executor(), capacity_of(is_bounded));
        const auto runs_all = [&] {
            inner.restart();
            inner.poll();
        };
        unsigned posted = 0;
        unsigned run = 0;
        const auto counts = [&](unsigned more_run, unsigned more_dropped) {
            runs_all();
            const auto now = accounts.metrics();
            posted += more_run + more_dropped;
            run += more_run;
            CHECK(now.posted == posted);
            CHECK(now.run == run);
            CHECK(now.dropped == posted - run);
            CHECK(now.active == 0);
        };
        for (const auto& keys : {std::vector{1}, std::vector{1, 2}}) {
            { // before a drain has seen the request
                wanted_turn gone(accounts, keys);
                gone.stop();
                CHECK(gone.code() == std::errc::operation_canceled);
                counts(0, 1);
            }
            { // while it waits for a lane
                wanted_turn first(accounts, {1});
                runs_all();
                wanted_turn gone(accounts, keys);
                runs_all();
                gone.stop();
                CHECK(gone.code() == std::errc::operation_canceled);
                first.run();
                CHECK(first.has_begun);
                counts(1, 1);
            }
            { // when it has all its lanes, and no drain has run
                wanted_turn gone(accounts, keys);
                CHECK(accounts.active() == keys.size()); // gives the lanes to the request
                gone.stop();
                CHECK(gone.code() == std::errc::operation_canceled);
                counts(0, 1);
            }
            { // after it has begun, before the coroutine runs
                wanted_turn first(accounts, keys);
                runs_all();
                first.stop();
                CHECK(first.has_begun);
                counts(1, 0);
            }
        }
    }
}

TEST_CASE("the delay of a turn is measured until the turn begins") {
    loop_context inner;
    const bank l(inner.get_executor(), {.delay_sampling = 1});
    wanted_turn first(l, {1, 2});
    std::this_thread::sleep_for(2ms);
    inner.poll();
    first.run();
    CHECK(first.has_begun);
    const auto now = l.metrics();
    REQUIRE(now.delays.size() == 1);
    CHECK((now.delays[0].key == 1 || now.delays[0].key == 2));
    CHECK(now.delays[0].ns >= 1'000'000);
    inner.restart();
    inner.poll();
}

// ---- capacities

TEST_CASE("an awaited turn without room is refused, dropped, or exceeds the capacity, as the policy says") {
    for (const when_full policy :
         {when_full::reject, when_full::drop_newest, when_full::drop_oldest, when_full::block}) {
        CAPTURE(static_cast<int>(policy));
        loop_context inner;
        const bank l(inner.get_executor(), {.lane_capacity = 1, .policy = policy, .shards = 4});
        const auto runs_all = [&] {
            inner.restart();
            inner.poll();
        };
        wanted_turn first(l, {1});
        runs_all(); // has lane 1
        wanted_turn second(l, {1, 2});
        CHECK(l.depth(1) == 1);
        wanted_turn third(l, {3, 1});
        runs_all();
        CHECK(l.depth(1) == (policy == when_full::block ? 2 : 1));
        second.run();
        third.run();
        first.run();
        for (int i = 0; i != 3; ++i) {
            runs_all();
            second.run();
            third.run();
        }
        const bool drops_oldest = policy == when_full::drop_oldest;
        CHECK(second.has_begun == !drops_oldest);
        CHECK(third.has_begun == (drops_oldest || policy == when_full::block));
        if (drops_oldest) CHECK(second.code() == std::errc::operation_canceled);
        if (!third.has_begun) CHECK(third.code() == std::errc::operation_canceled);
        const auto now = l.metrics();
        CHECK(now.active == 0);
        CHECK(now.rejected == (policy == when_full::reject ? 1 : 0));
        CHECK(now.beyond == (policy == when_full::block ? 1 : 0));
        CHECK(now.run + now.dropped + now.rejected == 3);
    }
}

TEST_CASE("spawn_in_turn() waits for room like a post, and a withdrawn request gives its room back") {
    thread_pool pool(2);
    const bank l(pool.get_executor(), {.lane_capacity = 1, .policy = when_full::block, .shards = 4});
    holder h;
    auto held = spawn_in_turn(l, 1, h.hold(), use_future);
    h.begun.wait();
    std::stop_source stop;
    auto waiting = spawn_in_turn(
        l, {1, 2}, []() -> coroutine<> { co_return; }, use_future, spawn_options().stop(stop.get_token()));
    CHECK(l.depth(1) == 1);
    std::atomic<bool> has_returned = false;
    ekiden::future<int> behind;
    std::thread posts([&] {
        behind = spawn_in_turn(l, {1, 3}, []() -> coroutine<int> { co_return 3; }, use_future);
        has_returned = true;
    });
    until([&] { return l.depth(1) == 2; });
    std::this_thread::sleep_for(1ms);
    CHECK(!has_returned);
    stop.request_stop(); // there is room now
    posts.join();
    CHECK(l.depth(1) == 1);
    CHECK(code_of([&] { waiting.get(); }) == std::errc::operation_canceled);
    h.opened.set();
    held.get();
    CHECK(behind.get() == 3);
    pool.wait_idle();
    CHECK(is_settled(l));
}

TEST_CASE("A withdrawn turn gives no room to a post in front of it") {
    for (const bool is_for_all : {false, true}) {
        loop_context inner;
        lanes_options how{.policy = when_full::block, .shards = 4};
        (is_for_all ? how.capacity : how.lane_capacity) = 1;
        const bank l(inner.get_executor(), how);
        const auto runs_all = [&] {
            inner.restart();
            inner.poll();
        };
        std::string order;
        wanted_turn first(l, {1});
        runs_all();
        CHECK(l.post(1, [&] { order += 'a'; }));
        std::atomic<bool> has_returned = false;
        std::thread posts([&] {
            CHECK(l.post(1, [&] { order += 'b'; }));
            has_returned = true;
        });
        until([&] { return l.depth(1) == 2; });
        for (int i = 0; i != 3; ++i) {
            wanted_turn gone(l, {1});
            CHECK(l.depth(1) == 3);
            gone.stop();
            CHECK(l.depth(1) == 2);
        }
        std::this_thread::sleep_for(5ms);
        CHECK(!has_returned);
        first.run();
        runs_all();
        posts.join();
        CHECK(order == "ab");
        CHECK(is_settled(l));
    }
}

TEST_CASE("With a capacity for all lanes, a function that begins early gives no room to a post that waits") {
    loop_context inner;
    const bank l(inner.get_executor(), {.capacity = 1, .policy = when_full::block, .shards = 4});
    const auto runs_all = [&] {
        inner.restart();
        inner.poll();
    };
    std::string order;
    wanted_turn first(l, {1});
    runs_all();
    CHECK(l.post(1, [&] { order += 'a'; }));
    std::atomic<bool> has_returned = false;
    std::thread posts([&] {
        CHECK(l.post(1, [&] { order += 'b'; }));
        has_returned = true;
    });
    until([&] { return l.depth(1) == 2; });
    (void)inner.get_executor().post([&] { CHECK(l.post(2, [&] { order += 'c'; })); }); // does not wait
    runs_all();
    CHECK(order == "c");
    std::thread posts_too([&] { CHECK(l.post(2, [&] { order += 'd'; })); });
    until([&] { // the thread gives the drain to the loop after it has queued the function
        runs_all();
        return order == "cd";
    });
    posts_too.join(); // its function has begun
    CHECK(order == "cd");
    std::this_thread::sleep_for(5ms);
    CHECK(!has_returned);
    first.run();
    runs_all();
    posts.join();
    CHECK(order == "cdab");
    CHECK(l.metrics().beyond == 1);
    CHECK(is_settled(l));
}

TEST_CASE("withdrawn requests take no room of a lane and of all lanes") {
    for (const bool is_for_all : {false, true}) {
        loop_context inner;
        lanes_options how{.shards = 4};
        (is_for_all ? how.capacity : how.lane_capacity) = 2;
        const bank l(inner.get_executor(), how);
        const auto runs_all = [&] {
            inner.restart();
            inner.poll();
        };
        wanted_turn first(l, {1});
        runs_all();
        for (int i = 0; i != 50; ++i) {
            wanted_turn gone(l, {1});
            CHECK(l.depth(1) == 1);
            gone.stop();
            CHECK(gone.code() == std::errc::operation_canceled);
            CHECK(l.depth(1) == 0);
        }
        bool has_run = false;
        CHECK(l.post(1, [&] { has_run = true; }));
        CHECK(l.post(1, [&] { has_run = true; }));
        CHECK_FALSE(l.post(1, [] {}));
        first.run();
        runs_all();
        CHECK(has_run);
        CHECK(l.metrics().rejected == 1);
        CHECK(is_settled(l));
    }
}

TEST_CASE("drop_oldest passes over withdrawn requests, and drops the oldest function that still waits") {
    loop_context inner;
    const bank l(inner.get_executor(), {.lane_capacity = 2, .policy = when_full::drop_oldest, .shards = 4});
    const auto runs_all = [&] {
        inner.restart();
        inner.poll();
    };
    std::string order;
    wanted_turn first(l, {1});
    runs_all();
    wanted_turn gone(l, {1, 2});
    CHECK(l.post(1, [&] { order += 'a'; }));
    wanted_turn gone_too(l, {1}); // drops `gone`
    gone.run();
    CHECK(gone.code() == std::errc::operation_canceled);
    gone_too.stop();
    CHECK(gone_too.code() == std::errc::operation_canceled);
    CHECK(l.depth(1) == 1);
    CHECK(l.post(1, [&] { order += 'b'; }));
    CHECK(l.post(1, [&] { order += 'c'; })); // drops a
    CHECK(l.depth(1) == 2);
    first.run();
    runs_all();
    CHECK(order == "bc");
    CHECK(l.metrics().dropped == 3);
    CHECK(is_settled(l));
}

// ---- close, wait_idle and depth

TEST_CASE("close of a key abandons turns that wait, with the key or without it") {
    for (const bool is_bounded : {false, true}) {
        CAPTURE(is_bounded);
        loop_context inner;
        const bank l(inner.get_executor(), capacity_of(is_bounded));
        const auto runs_all = [&] {
            inner.restart();
            inner.poll();
        };
        { // it waits
            wanted_turn first(l, {1});
            runs_all();
            wanted_turn waiting(l, {1, 2});
            CHECK(l.close(1) == 1);
            waiting.run();
            CHECK(waiting.code() == std::errc::operation_canceled);
            first.run();
            CHECK(first.has_begun);
            runs_all();
            CHECK(l.active() == 0);
        }
        { // it has the closed lane, and waits for another one
            wanted_turn first(l, {2});
            runs_all();
            wanted_turn waiting(l, {1, 2});
            runs_all();
            CHECK(l.close(1) == 0);
            first.run();
            runs_all();
            waiting.run();
            CHECK(waiting.code() == std::errc::operation_canceled);
            CHECK(!waiting.has_begun);
            runs_all();
            CHECK(l.active() == 0);
        }
        { // it was withdrawn while its lane was closed
            wanted_turn first(l, {2});
            runs_all();
            wanted_turn waiting(l, {1, 2});
            runs_all();
            CHECK(l.close(1) == 0);
            waiting.stop();
            CHECK(waiting.code() == std::errc::operation_canceled);
            CHECK(l.active() == 1);
            first.run();
            runs_all();
            CHECK(l.active() == 0);
        }
        CHECK(is_settled(l));
    }
}

TEST_CASE("close of a key abandons a turn that is about to begin, and lets a turn that has begun last") {
    for (const bool is_bounded : {false, true}) {
        CAPTURE(is_bounded);
        loop_context inner;
        const bank l(inner.get_executor(), capacity_of(is_bounded));
        const auto runs_all = [&] {
            inner.restart();
            inner.poll();
        };
        { // it has all its lanes, and is closed before a drain runs
            wanted_turn ready(l, {1, 2});
            CHECK(l.active() == 2);
            CHECK(l.close(2) == 0);
            runs_all();
            ready.run();
            CHECK(ready.code() == std::errc::operation_canceled);
            CHECK(l.active() == 0);
        }
        { // it has begun
            wanted_turn lasts(l, {1, 2});
            runs_all();
            CHECK(l.close(1) == 0);
            lasts.run();
            CHECK(lasts.has_begun);
            runs_all();
            CHECK(l.active() == 0);
        }
        wanted_turn after(l, {1, 2}); // the lane can be used again
        runs_all();
        after.run();
        CHECK(after.has_begun);
        runs_all();
        CHECK(is_settled(l));
    }
}

TEST_CASE("close of a key with withdrawn requests counts the functions that are lost, once each") {
    for (const bool is_bounded : {false, true}) {
        loop_context inner;
        const bank l(inner.get_executor(), capacity_of(is_bounded));
        const auto runs_all = [&] {
            inner.restart();
            inner.poll();
        };
        wanted_turn first(l, {1});
        runs_all();
        wanted_turn gone(l, {1, 2});
        CHECK(l.post(1, [] {}));
        wanted_turn gone_too(l, {1});
        wanted_turn waiting(l, {1, 3});
        gone.stop();
        gone_too.stop();
        CHECK(l.close(1) == 2);
        waiting.run();
        CHECK(waiting.code() == std::errc::operation_canceled);
        first.run();
        runs_all();
        CHECK(l.metrics().dropped == 4);
        CHECK(is_settled(l));
    }
}

TEST_CASE("wait_idle of a key waits for the end of a turn, and depth counts the requests behind it") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    holder h;
    auto held = spawn_in_turn(l, {1, 2}, h.hold(), use_future);
    h.begun.wait();
    CHECK(l.depth(1) == 0);
    std::atomic<bool> has_run = false;
    CHECK(l.post(1, [&] { has_run = true; }));
    CHECK(l.depth(1) == 1);
    CHECK(!l.wait_idle_for(1, 1ms));
    CHECK(!l.wait_idle_for(2, 1ms));
    l.wait_idle(3);
    CHECK(!l.running_in_this_thread(1));
    std::thread opens([&] {
        std::this_thread::sleep_for(1ms);
        h.opened.set();
    });
    l.wait_idle(1);
    CHECK(has_run);
    held.get();
    l.wait_idle(2);
    opens.join();
    CHECK(l.metrics().run == 2);
}

TEST_CASE("no request waits for a withdrawn turn, whichever of its lanes the turn had") {
    for (const bool is_bounded : {false, true}) {
        for (const unsigned had : {0U, 1U, 2U}) { // the number of lanes that the withdrawn turn has
            CAPTURE(is_bounded);
            CAPTURE(had);
            loop_context inner;
            const bank l(inner.get_executor(), capacity_of(is_bounded));
            const auto runs_all = [&] {
                inner.restart();
                inner.poll();
            };
            wanted_turn third(l, {3});
            wanted_turn second(l, {had >= 2 ? 5 : 2});
            wanted_turn first(l, {had >= 1 ? 6 : 1});
            runs_all();
            wanted_turn gone(l, {1, 2, 3});
            runs_all();
            int runs = 0;
            CHECK(l.post(1, [&] { runs += 1; }));
            CHECK(l.post({2, 7}, [&] { runs += 10; }));
            CHECK(l.post(l.keys().read(1), [&] { runs += 100; }));
            runs_all();
            CHECK(runs == 0);
            gone.stop();
            runs_all();
            CHECK(runs == (had == 0 ? 0 : had == 1 ? 101 : 111));
            first.run(); // the turn in lane 1 ends, and lane 3 is still held
            second.run();
            runs_all();
            CHECK(runs == 111);
            CHECK(l.active() == 1);
            third.run();
            runs_all();
            CHECK(is_settled(l));
        }
    }
}
