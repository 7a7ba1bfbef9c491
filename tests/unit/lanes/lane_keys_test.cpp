// Keys that own something, threads that fire timers at full lanes, and posts beside a lane that is never
// idle.
#include "../execution/held_worker.hpp"
#include "../execution/user_executor.hpp"
#include "../failing_allocations.hpp"

#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/topology.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <exception>
#include <functional>
#include <latch>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::held_worker;
using pool_lanes = lanes<std::uint64_t, thread_pool::executor_type>;

/// A key that owns something whose end does `at_end`, and that calls `at_use` when it is copied or hashed.
struct session {
    int number = 0;
    const std::function<void()>* at_use = nullptr;
    std::function<void()> at_end;
    ~session() {
        if (at_end) at_end();
    }
};
struct session_key {
    std::shared_ptr<session> of;

    explicit session_key(std::shared_ptr<session> owned) noexcept : of(std::move(owned)) {}
    session_key(const session_key& other) : of(other.of) { use(); }
    session_key(session_key&&) noexcept = default;
    session_key& operator=(const session_key&) = default;
    session_key& operator=(session_key&&) noexcept = default;
    ~session_key() { use(); }

    void use() const {
        if (of != nullptr && of->at_use != nullptr && *of->at_use) (*of->at_use)();
    }
    friend bool operator==(const session_key& a, const session_key& b) noexcept { return a.of == b.of; }
};
struct session_hash {
    std::size_t operator()(const session_key& key) const noexcept {
        key.use();
        return static_cast<std::size_t>(key.of->number);
    }
};
using session_lanes = lanes<session_key, users_context::executor_type, session_hash>;

/// A function that tells its end to a counter, run or not.
auto witnessed(std::atomic<int>& ended, std::atomic<int>& ran) {
    auto witness = std::shared_ptr<void>(nullptr, [&ended](void*) { ended.fetch_add(1); });
    return [witness, &ran] { ran.fetch_add(1); };
}

/// Too large for a recycled node, so that a lane of it is allocated by operator new.
struct large_key {
    int value;
    std::array<char, 512> filler;
    friend bool operator==(const large_key&, const large_key&) = default;
};
struct large_hash {
    std::size_t operator()(const large_key& key) const noexcept {
        return static_cast<std::size_t>(key.value);
    }
};

/// Copying it may fail, whenever that is.
struct fickle_key {
    int value;
    const std::atomic<bool>* fails;

    fickle_key(int number, const std::atomic<bool>& flag) : value(number), fails(&flag) {}
    fickle_key(const fickle_key& other) : value(other.value), fails(other.fails) {
        if (fails->load()) throw std::runtime_error("no copy");
    }
    fickle_key(fickle_key&& other) noexcept = default;
    fickle_key& operator=(const fickle_key&) = default;
    friend bool operator==(const fickle_key& a, const fickle_key& b) { return a.value == b.value; }
};
struct fickle_hash {
    std::size_t operator()(const fickle_key& key) const noexcept {
        return static_cast<std::size_t>(key.value);
    }
};

} // namespace

// ---- keys

TEST_CASE("A key may own what posts to the same lanes at its end") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{10}}) {
        users_context context;
        const session_lanes l(context.get_executor(), {.lane_capacity = capacity, .shards = 1});
        const session_key last(std::make_shared<session>());
        int ran = 0;
        auto owned = std::make_shared<session>();
        owned->at_end = [&] {
            CHECK(l.active() == 0);
            CHECK(l.post(last, [&ran] { ++ran; }));
        };
        (void)l.post(session_key(std::move(owned)), [&ran] { ++ran; });
        while (context.run() != 0) {
        }
        CHECK(ran == 2);
        CHECK(l.active() == 0);
    }
}

TEST_CASE("Lanes hash, copy and destroy keys outside of their locks") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{2}}) {
        users_context context;
        const session_lanes l(context.get_executor(),
                              {.lane_capacity = capacity, .shards = 1, .delay_sampling = 1});
        const session_key other(std::make_shared<session>(session{1, nullptr, {}}));
        bool is_in = false;
        const std::function<void()> use = [&] {
            if (std::exchange(is_in, true)) return;
            (void)l.depth(other); // takes the lock that there is
            is_in = false;
        };
        std::vector<session_key> keys;
        for (int i = 0; i != 100; ++i) keys.emplace_back(std::make_shared<session>(session{i + 2, &use, {}}));
        int ran = 0;
        for (int round = 0; round != 3; ++round) {
            for (const session_key& key : keys) {
                (void)l.post(key, [&ran] { ++ran; });
                l.dispatch(key, [&ran] { ++ran; });
                l.get_executor(key).post([&ran] { ++ran; }); // with the capacity it is refused
                (void)l.depth(key);
            }
            (void)l.close(keys[0]);
            context.run();
            (void)l.metrics();
        }
        CHECK(ran == 3 * 99 * (capacity == 0 ? 3 : 2));
        CHECK(l.active() == 0);
    }
}

TEST_CASE("Lanes hash, copy and destroy the keys of a request outside of their locks") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{2}}) {
        for (const unsigned shards : {1U, 4U}) {
            users_context context;
            const session_lanes l(context.get_executor(), {.lane_capacity = capacity, .shards = shards});
            const session_key other(std::make_shared<session>(session{1, nullptr, {}}));
            bool is_in = false;
            int ended = 0;
            const std::function<void()> use = [&] {
                if (std::exchange(is_in, true)) return;
                for (int i = 0; i != 4; ++i) // takes the locks that there are
                    (void)l.depth(session_key(std::make_shared<session>(session{i, nullptr, {}})));
                is_in = false;
            };
            int ran = 0;
            for (int round = 0; round != 3; ++round) {
                std::vector<session_key> keys;
                for (int i = 0; i != 10; ++i) {
                    auto owned = std::make_shared<session>(session{i + 2, &use, {}});
                    owned->at_end = [&] {
                        ++ended;
                        (void)l.post(other, [] {});
                    };
                    keys.emplace_back(std::move(owned));
                }
                for (int i = 0; i != 3; ++i) // with a capacity, two of them wait
                    (void)l.post(l.keys().write_all(keys), [&ran] { ++ran; });
                (void)l.post(l.keys().read(keys[0], keys[1]), [&ran] { ++ran; });
                l.dispatch({keys[2], other}, [&ran] { ++ran; });
                if (round == 1) (void)l.close(keys[0]);
                keys.clear();
                while (context.run() != 0) {
                }
            }
            CHECK(ran > 0);
            CHECK(ended == 30);
            CHECK(l.active() == 0);
        }
    }
}

TEST_CASE("Lanes keep no key of a lane that has nothing to run") {
    users_context context;
    const session_lanes l(context.get_executor(), {.shards = 1, .delay_sampling = 1});
    const auto owned = std::make_shared<session>();
    for (int i = 0; i != 3; ++i) (void)l.post(session_key(owned), [] {});
    context.run();
    const auto now = l.metrics();
    CHECK(owned.use_count() == 1);
    CHECK(now.run == 3);
    REQUIRE(now.delays.size() == 1);
    CHECK(now.delays[0].key == session_hash()(session_key(owned)));
}

TEST_CASE("A post with a key whose copy throws throws, and leaves nothing behind") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{10}}) {
        std::atomic<bool> fails{false};
        std::atomic<int> ended{0};
        std::atomic<int> ran{0};
        thread_pool pool(1);
        const lanes<fickle_key, thread_pool::executor_type, fickle_hash> l(pool.get_executor(),
                                                                           {.lane_capacity = capacity});
        const fickle_key key(1, fails);
        held_worker worker(pool);
        CHECK(l.post(key, witnessed(ended, ran)));
        fails = true; // the one that is there already is only moved
        CHECK_THROWS_AS((void)l.post(fickle_key(2, fails), witnessed(ended, ran)), std::runtime_error);
        CHECK(ended.load() == 1);
        worker.open();
        pool.wait_idle();
        CHECK(ran.load() == 1);
        CHECK(ended.load() == 2);
        CHECK(l.active() == 0);
        CHECK(l.metrics().dropped == 0);
    }
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("A function for which there is no memory for a lane is dropped, counted, and reported") {
    std::atomic<int> reports{0};
    std::atomic<int> ended{0};
    std::atomic<int> ran{0};
    {
        thread_pool pool({.threads = 1, .on_unhandled_exception = [&](std::exception_ptr, std::string_view) {
                              reports.fetch_add(1);
                          }});
        const lanes<large_key, thread_pool::executor_type, large_hash> l(pool.get_executor(), {.shards = 1});
        held_worker worker(pool);
        CHECK(l.post({1, {}}, witnessed(ended, ran)));
        CHECK(l.post({2, {}}, witnessed(ended, ran)));
        {
            const ekiden_test::failing_allocation next(0);
            CHECK(l.active() == 1); // sorts
        }
        CHECK(reports.load() == 1);
        CHECK(ended.load() == 1);
        CHECK(l.metrics().dropped == 1);
        worker.open();
        pool.wait_idle();
        CHECK(ran.load() == 1);
        CHECK(l.post({1, {}}, witnessed(ended, ran)));
        pool.wait_idle();
        CHECK(ran.load() == 2);
        CHECK(reports.load() == 1);
    }
    CHECK(ended.load() == 3);
}

TEST_CASE("With a capacity, a post throws if there is no memory for its lane, and leaves nothing behind") {
    std::atomic<int> ended{0};
    std::atomic<int> ran{0};
    thread_pool pool(1);
    const lanes<large_key, thread_pool::executor_type, large_hash> l(pool.get_executor(),
                                                                     {.lane_capacity = 3, .capacity = 1});
    {
        auto function = witnessed(ended, ran);
        const ekiden_test::failing_allocation second(1); // the first one is for the function
        CHECK_THROWS_AS((void)l.post({1, {}}, std::move(function)), std::bad_alloc);
    }
    CHECK(ended.load() == 1);
    CHECK(l.active() == 0);
    CHECK(l.post({1, {}}, witnessed(ended, ran)));
    pool.wait_idle();
    CHECK(ran.load() == 1);
}
#endif

// ---- timers

TEST_CASE("A timer that posts to a full lane holds up no other timer, and its handler runs in order") {
    for (const bool in_all : {false, true}) {
        loop_context loop(1);
        thread_pool pool(1);
        const pool_lanes l(
            pool.get_executor(),
            {.lane_capacity = in_all ? 0U : 1U, .capacity = in_all ? 1U : 0U, .policy = when_full::block});
        std::string order; // of the lane
        bool has_fired = false;
        held_worker worker(pool);
        CHECK(l.post(1, [&] { order += 'a'; }));
        const auto lane = l.get_executor(1);
        steady_timer first(loop, 0ms);
        steady_timer second(loop, 1ms);
        steady_timer third(loop, 2ms);
        steady_timer fourth(loop, 1h);
        first.async_wait(bind_executor(lane, [&](std::error_code) { order += 'b'; }));
        second.async_wait(bind_executor(lane, [&](std::error_code) { order += 'c'; }));
        fourth.async_wait(bind_executor(lane, [&](std::error_code error) { order += error ? 'd' : '?'; }));
        third.async_wait([&](std::error_code) {
            has_fired = true;
            fourth.cancel();
            loop.stop();
        });
        loop.run();
        CHECK(has_fired);
        CHECK(order.empty());
        CHECK(l.depth(1) == 4);
        CHECK(l.metrics().beyond == 3);
        worker.open();
        l.wait_idle(1);
        CHECK(order == "abcd");
        CHECK(l.post(1, [] {}));
        l.wait_idle(1);
        loop.restart();
        loop.run();
    }
}

TEST_CASE("A coroutine that sleeps and comes home to a full lane holds up no timer") {
    thread_pool pool(2);
    const pool_lanes l(pool.get_executor(), {.lane_capacity = 1, .policy = when_full::block});
    std::string order;
    std::latch release(1);
    const auto sleeper = [&]() -> coroutine<void> {
        (void)l.post(1, [&] {
            release.wait();
            order += 'a';
        });
        (void)l.post(1, [&] { order += 'b'; });
        co_await sleep_for(1ms);
        order += 'c';
    };
    auto ended = co_spawn(l.get_executor(1), sleeper, use_future);
    promise<void> fired;
    steady_timer other(pool, 20ms);
    other.async_wait([&](std::error_code) { fired.set_value(); });
    fired.get_future().get();
    release.count_down();
    ended.get();
    CHECK(order == "abc");
}

// ---- fairness

TEST_CASE("A full lane that posts to itself does not keep others from posting to the same shard") {
    std::vector<long> meanwhile; // what the lane ran while a post of this thread went on
    std::thread([&] { // all on one processor, where a thread that has it may take a lock again and again
        const std::vector<int> only{sys::usable_cpus().front()};
        if (!sys::set_thread_affinity(only)) return;
        thread_pool pool(1);
        const pool_lanes l(pool.get_executor(), {.lane_capacity = 1000, .shards = 1});
        std::atomic<bool> is_over{false};
        std::atomic<long> ran{0};
        struct endless {
            const pool_lanes& l;
            std::atomic<bool>& is_over;
            std::atomic<long>& ran;
            void operator()() const {
                ran.fetch_add(1, std::memory_order_relaxed);
                if (!is_over.load(std::memory_order_relaxed)) (void)l.post(0, *this);
            }
        };
        (void)l.post(0, endless{l, is_over, ran});
        for (int i = 0; i != 60; ++i) {
            const long last = ran.load();
            while (ran.load() == last) std::this_thread::yield();
            const long before = ran.load();
            (void)l.post(1, [] {});
            meanwhile.push_back(ran.load() - before);
        }
        is_over = true;
        pool.wait_idle();
    })
        .join();
    if (meanwhile.empty()) return; // the system lets no thread choose its processor
    std::sort(meanwhile.begin(), meanwhile.end());
    MESSAGE("functions meanwhile: " << meanwhile[50] << " in one of six, at most " << meanwhile.back());
    CHECK(meanwhile[50] < 300);
}
