// Handles of lanes: how long their lanes exist, memory, the child of a fork, and several threads.
#include "../effort.hpp"
#include "../execution/held_worker.hpp"
#include "../failing_allocations.hpp"
#include "dice.hpp"
#include "tally.hpp"

#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/config.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <doctest/doctest.h>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <tests/unit/child_process.hpp>
#include <tests/unit/posix.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using ekiden_test::dice;
using ekiden_test::held_worker;
using ekiden_test::tally;
using int_lanes = lanes<int, thread_pool::executor_type>;
using handle = int_lanes::lane_type;

} // namespace

// ---- the lane of a handle

TEST_CASE("The lane of a handle exists while the handle lives, and counts as active only while it has work") {
    thread_pool pool(1);
    const int_lanes l(pool.get_executor(), {.shards = 1});
    const std::size_t before = l.metrics().memory;
    std::optional<handle> one = l.lane(1);
    const std::size_t with_handle = l.metrics().memory;
    CHECK(with_handle - before == 64);
    for (int round = 0; round != 3; ++round) {
        held_worker worker(pool);
        CHECK(l.active() == 0);
        CHECK(l.post(one.value(), [] {}));
        CHECK(l.active() == 1);
        CHECK(l.metrics().active == 1);
        worker.open();
        l.wait_idle(*one);
        CHECK(l.active() == 0);
        CHECK(l.metrics().memory == with_handle); // the same lane
    }
    std::optional<handle> second = one;
    one.reset();
    CHECK(l.metrics().memory == with_handle);
    second.reset();
    CHECK(l.lane(2).key() == 2);
    CHECK(l.metrics().memory <= with_handle + 64); // unused lanes that the shard keeps
}

TEST_CASE("A lane that is busy when its last handle is destroyed goes on, and is erased when it is idle") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{10}}) {
        tally all;
        thread_pool pool(1);
        const int_lanes l(pool.get_executor(), {.lane_capacity = capacity, .shards = 2});
        {
            held_worker worker(pool);
            {
                const handle one = l.lane(1);
                const handle two = l.lane(2);
                CHECK(l.post(one, all.function()));
                CHECK(l.post({one, two}, all.function()));
                CHECK(l.post(1, all.function([&] {
                    const handle again = l.lane(1); // of the running lane
                    CHECK(l.post(again, all.function()));
                })));
                CHECK(l.post(l.keys().read(two), all.function()));
            }
            CHECK(l.active() == 2);
            CHECK(l.post({1, 2}, all.function()));
            worker.open();
        }
        pool.wait_idle();
        CHECK(all.ran.load() == 6);
        CHECK(all.is_settled());
        CHECK(l.active() == 0);
    }
}

TEST_CASE("A handle may be destroyed after the lanes, and after the pool has been stopped") {
    tally all;
    auto pool = std::make_unique<thread_pool>(1);
    std::optional<int_lanes> l(std::in_place, pool->get_executor());
    std::optional<handle> one = l->lane(1);
    const handle two = l->lane(2);
    std::latch go_on(1);
    CHECK(l->post(*one, all.function([&] { go_on.wait(); })));
    CHECK(l->post({*one, two}, all.function()));
    l.reset();
    one.reset();
    go_on.count_down();
    pool->wait_idle();
    CHECK(all.ran.load() == 2);

    l.emplace(pool->get_executor());
    const handle third = l->lane(3);
    pool->stop();
    CHECK_FALSE(l->post(third, all.function()));
    CHECK_FALSE(l->post({third, l->lane(4)}, all.function()));
    CHECK(l->close(third) == 0);
    l->wait_idle(third);
    CHECK(all.is_settled());
    l.reset();
    pool.reset();
    CHECK(third.key() == 3);
}

TEST_CASE("A function may own the last handle of its lane and of the lanes") {
    for (int round = 0; round != ekiden_test::rounds(500); ++round) {
        tally all;
        {
            thread_pool pool({.threads = 2});
            auto l = std::make_unique<int_lanes>(pool.get_executor());
            auto one = std::make_unique<handle>(l->lane(1));
            const int_lanes& here = *l;
            const handle& to = *one;
            CHECK(here.post(to, all.function([l = std::move(l), one = std::move(one)]() mutable {
                (void)l->post(*one, [] {});
                l.reset();
                one.reset();
            })));
        }
        CHECK(all.ran.load() == 1);
        CHECK(all.is_settled());
    }
}

TEST_CASE("A function may own the lanes while another thread runs their shard") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{10}}) {
        for (const bool has_several : {false, true}) {
            for (int round = 0; round != ekiden_test::rounds(500); ++round) {
                tally all;
                {
                    thread_pool pool({.threads = 2});
                    auto l = std::make_unique<int_lanes>(
                        pool.get_executor(), lanes_options{.lane_capacity = capacity, .shards = 1});
                    const int_lanes& here = *l;
                    if (has_several) CHECK(here.post({1, 2}, all.function([] {})));
                    CHECK(here.post(1, all.function([] {})));
                    CHECK(here.post(2, all.function([l = std::move(l)]() mutable { l.reset(); })));
                }
                CHECK(all.is_settled());
            }
        }
    }
}

TEST_CASE("A million keys by handle do not grow memory") {
    thread_pool pool(1);
    const int_lanes l(pool.get_executor(), {.shards = 4});
    std::size_t most = 0;
    std::size_t active = 0;
    const int keys = ekiden_test::rounds(1'000'000);
    for (int key = 0; key != keys; ++key) {
        (void)l.post(l.lane(key), [] {});
        if (key % 1000 == 999) {
            pool.wait_idle();
            const auto now = l.metrics();
            most = std::max(most, now.memory);
            active += now.active;
        }
    }
    CHECK(active == 0);
    CHECK(most < 64 * 1024);
}

TEST_CASE("Posts by handle allocate nothing once memory has been recycled") {
    thread_pool pool(1);
    const int_lanes l(pool.get_executor());
    const handle one = l.lane(1);
    const handle two = l.lane(2);
    const auto work = [&] {
        for (int i = 0; i != 1'000; ++i) {
            const handle copied = one;
            (void)l.post(copied, [] {});
            (void)l.post({one, two}, [] {});
            if (i % 10 == 0) pool.wait_idle();
        }
        pool.wait_idle();
    };
    for (int i = 0; i != 10; ++i) work();
    const long before = ekiden_test::allocation_count();
    work();
    CHECK(ekiden_test::allocation_count() == before);
}

TEST_CASE("A handle keeps one key, which posts by handle do not copy") {
    struct key {
        std::shared_ptr<int> of;
        bool operator==(const key& other) const { return *of == *other.of; }
    };
    struct key_hash {
        std::size_t operator()(const key& k) const { return static_cast<std::size_t>(*k.of); }
    };
    thread_pool pool(1);
    const lanes<key, thread_pool::executor_type, key_hash> l(pool.get_executor());
    const auto number = std::make_shared<int>(1);
    {
        const auto one = l.lane({number});
        const auto two = l.lane({std::make_shared<int>(2)});
        CHECK(number.use_count() == 2);
        held_worker worker(pool);
        CHECK(l.post(one, [] {}));
        CHECK(l.post({one, two}, [] {}));
        CHECK(number.use_count() == 2);
        worker.open();
    }
    pool.wait_idle();
    CHECK(number.use_count() == 1);
}

TEST_CASE("If there is no memory for a lane, lane() throws, and leaves nothing behind") {
    thread_pool pool(1);
    const lanes<std::string, thread_pool::executor_type> l(pool.get_executor(), {.shards = 1});
    const std::string key(100, 'k');
    std::optional<decltype(l)::lane_type> made;
#ifndef EKIDEN_TSAN
    {
        const ekiden_test::failing_allocation fail(0); // the copy of the key
        CHECK_THROWS_AS((void)l.lane(key), std::bad_alloc);
    }
    for (int n = 0; n != 2; ++n) { // the recycler allocates memory for several lanes
        const ekiden_test::failing_allocation fail(1);
        try {
            made = l.lane(key);
        } catch (const std::bad_alloc&) {
            CHECK_FALSE(made);
        }
    }
#endif
    if (!made) made = l.lane(key);
    CHECK(l.active() == 0);
    int ran = 0;
    CHECK(l.post(*made, [&] { ++ran; }));
    l.wait_idle(key);
    CHECK(ran == 1);
}

TEST_CASE("In the child of a fork, a handle can be destroyed, and posts by handle throw") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    thread_pool pool(1);
    const int_lanes l(pool.get_executor());
    std::optional<handle> one = l.lane(1);
    std::optional<handle> copied = one;
    const auto child = ekiden_test::run_in_child([&] {
        const auto refuses = [](auto f) {
            try {
                f();
            } catch (const std::system_error& e) {
                return e.code() == std::errc::operation_not_permitted;
            }
            return false;
        };
        bool is_good = refuses([&] { (void)l.post(*one, [] {}); });
        is_good &= refuses([&] { (void)l.post({*one, *copied}, [] {}); });
        is_good &= refuses([&] { l.wait_idle(*one); });
        is_good &= refuses([&] { (void)l.lane(2); });
        is_good &= !l.running_in_this_thread(*one);
        one.reset();
        copied.reset();
        std::_Exit(is_good ? 7 : 1);
    });
    CHECK(child.exit_code == 7);
    CHECK(l.post(*one, [] {}));
    l.wait_idle(1);
}

// ---- several threads

TEST_CASE("Threads post by key and by handle, and make and destroy handles: each lane keeps its order") {
    constexpr int keys = 3;
    constexpr int posters = 3;
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        struct account {
            std::atomic<int> inside{0};
            std::array<int, posters> last{};
            int ran = 0;
        };
        std::array<account, keys> accounts;
        std::atomic<int> wrong{0};
        tally all;
        {
            thread_pool pool(2);
            const int_lanes l(pool.get_executor(), {.shards = round % 2 == 0 ? 1U : 4U});
            constexpr int posts = 100;
            std::vector<std::thread> threads;
            for (int p = 0; p != posters; ++p) {
                threads.emplace_back([&, p] {
                    dice random(static_cast<std::uint64_t>(round * posters + p));
                    std::array<std::optional<handle>, keys> kept;
                    const auto enter = [&, p](int key, int n) {
                        account& a = accounts[static_cast<std::size_t>(key)];
                        if (a.inside.fetch_add(1) != 0) wrong.fetch_add(1);
                        int& last = a.last[static_cast<std::size_t>(p)];
                        if (last >= n) wrong.fetch_add(1);
                        last = n;
                        ++a.ran;
                        a.inside.fetch_sub(1);
                    };
                    for (int n = 1; n <= posts; ++n) {
                        const int key = static_cast<int>(random.below(keys));
                        const int other = (key + 1) % keys;
                        auto& mine = kept[static_cast<std::size_t>(key)];
                        const auto one = all.function([=] { enter(key, n); });
                        const auto both = all.function([=] {
                            enter(key, n);
                            enter(other, n);
                        });
                        switch (random.below(6)) {
                        case 0:
                            mine.reset();
                            (void)l.post(key, one);
                            break;
                        case 1:
                            (void)l.post(l.lane(key), one);
                            break;
                        case 2:
                            (void)l.post({l.lane(key), l.lane(other)}, both);
                            break;
                        case 3:
                            (void)l.post(l.keys().write(l.lane(key)).write(other), both);
                            break;
                        default:
                            if (!mine) mine = l.lane(key);
                            (void)l.post(*mine, one);
                        }
                    }
                });
            }
            for (std::thread& t : threads) t.join();
            pool.wait_idle();
            CHECK(l.active() == 0);
            CHECK(l.metrics().run == posters * posts);
        }
        CHECK(wrong.load() == 0);
        CHECK(all.is_settled());
    }
}

TEST_CASE("Threads make and destroy handles of a lane that falls idle again and again") {
    thread_pool pool(2);
    const int_lanes l(pool.get_executor(), {.shards = 1});
    std::atomic<int> ran{0};
    const int rounds = ekiden_test::rounds(20'000);
    std::vector<std::thread> threads;
    for (int t = 0; t != 2; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i != rounds; ++i) {
                handle one = l.lane(1);
                const handle copied = one;
                if (i % 3 != 0) one = l.lane(2);
                (void)l.post(copied, [&] { ran.fetch_add(1); });
                if (i % 16 == 0) l.wait_idle(one);
            }
        });
    }
    for (std::thread& t : threads) t.join();
    pool.wait_idle();
    CHECK(ran.load() == 2 * rounds);
    CHECK(l.active() == 0);
}
