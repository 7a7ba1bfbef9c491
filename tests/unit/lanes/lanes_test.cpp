#include <ekiden/lanes/lanes.hpp>

#include "../child_process.hpp"
#include "../effort.hpp"
#include "../execution/held_worker.hpp"
#include "../failing_allocations.hpp"

#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/config.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <doctest/doctest.h>
#include <latch>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using ekiden_test::held_worker;
using pool_lanes = lanes<std::uint64_t, thread_pool::executor_type>;
using named_lanes = lanes<std::string, thread_pool::executor_type>;

/// A function that tells its end to a counter, run or not.
auto counted(std::atomic<int>& ended, std::atomic<int>& ran) {
    auto witness = std::shared_ptr<void>(nullptr, [&ended](void*) { ended.fetch_add(1); });
    return [witness, &ran] { ran.fetch_add(1); };
}

} // namespace

static_assert(executor<pool_lanes::executor_type> && task_executor<pool_lanes::executor_type>);
static_assert(executor<named_lanes::executor_type>);
static_assert(executor<lanes<int>::executor_type>);
static_assert(sizeof(pool_lanes::executor_type) == 16);

// ---- order

TEST_CASE("What is posted for a key runs in the order of the posts, and dispatch inside of it at once") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor());
    std::string order;
    held_worker worker(pool);
    (void)l.post(7, [&] {
        order += 'a';
        (void)l.post(7, [&] { order += 'c'; });
        l.dispatch(7, [&] { order += 'b'; });
        (void)l.defer(7, [&] { order += 'd'; });
    });
    (void)l.post(7, [&] { order += 'x'; });
    worker.open();
    pool.wait_idle();
    CHECK(order == "abxcd");
}

TEST_CASE("Lanes can be made from a context") {
    thread_pool pool(1);
    const pool_lanes by_number(pool);
    CHECK(by_number.get_inner_executor() == pool.get_executor());
    const lanes<int> any(pool, {.lane_capacity = 1});
    CHECK(any.get_inner_executor() == any_executor(pool.get_executor()));
}

TEST_CASE("Each poster's tasks of a key run in order, those of a key one at a time, whatever appears and "
          "vanishes") {
    constexpr int posters = 3;
    constexpr std::uint64_t keys = 50;
    const int count = ekiden_test::rounds(100'000);
    struct of_key {
        std::array<int, posters> last{};
        int total = 0; // plain: the lane orders them
    };
    std::array<of_key, keys> seen{};
    std::atomic<int> wrong{0};
    {
        thread_pool pool(2);
        const pool_lanes l(pool.get_executor(), {.shards = 4});
        std::vector<std::thread> threads;
        for (std::size_t p = 0; p != posters; ++p) {
            threads.emplace_back([&, p] {
                std::uint64_t random = p + 1;
                for (int i = 1; i <= count; ++i) {
                    random = random * 6364136223846793005U + 1442695040888963407U;
                    const std::uint64_t key = (random >> 40) % keys;
                    (void)l.post(key, [&here = seen[key], &wrong, p, i] {
                        ++here.total;
                        if (std::exchange(here.last[p], i) >= i) wrong.fetch_add(1);
                    });
                }
            });
        }
        for (std::thread& t : threads) t.join();
        pool.wait_idle();
        CHECK(l.active() == 0);
        CHECK(l.metrics().run == static_cast<std::uint64_t>(posters) * static_cast<std::uint64_t>(count));
    }
    int total = 0;
    for (const of_key& k : seen) total += k.total;
    CHECK(total == posters * count);
    CHECK(wrong.load() == 0);
}

TEST_CASE("dispatch to an idle lane runs at once on a thread of the inner context, elsewhere it posts") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor());
    std::thread::id ran_in;
    l.dispatch(1, [&] { ran_in = std::this_thread::get_id(); });
    pool.wait_idle();
    CHECK(ran_in != std::this_thread::get_id());

    std::string order;
    pool.submit([&] {
            l.dispatch(1, [&] {
                order += l.running_in_this_thread(1) && !l.running_in_this_thread(2) ? 'i' : '?';
                (void)l.post(1, [&] { order += 'p'; });
            });
            order += '0';
            (void)l.post(2, [&] { order += 'a'; });
            l.dispatch(2, [&] { order += 'b'; }); // busy: behind what is queued
            order += '1';
        })
        .get();
    pool.wait_idle();
    CHECK(order.front() == 'i');
    CHECK(order.find('a') < order.find('b'));
    CHECK(order.find('1') < order.find('a'));
    CHECK(order.size() == 6);
    CHECK(l.active() == 0);
}

TEST_CASE("The executors of lanes are equal if keys and lanes are, and do what lanes do") {
    thread_pool pool(2);
    const named_lanes l(pool.get_executor());
    const named_lanes other(pool.get_executor());
    const auto a = l.get_executor("a");
    CHECK(a == l.get_executor("a"));
    CHECK_FALSE(a == l.get_executor("b"));
    CHECK_FALSE(a == other.get_executor("a"));
    CHECK(a.key() == "a");
    CHECK(&a.context() == &pool);
    CHECK(a.get_inner_executor() == pool.get_executor());
    CHECK(a.submit([&] { return a.running_in_this_thread() && l.running_in_this_thread("a"); }).get());
    CHECK_FALSE(a.running_in_this_thread());

    int count = 0; // one lane
    any_executor erased = a;
    for (int i = 0; i != 1000; ++i) {
        a.post([&count] { ++count; });
        (void)l.post("a", [&count] { ++count; });
        erased.post([&count] { ++count; });
        erased.dispatch([&count] { ++count; });
    }
    pool.wait_idle();
    CHECK(count == 4000);
}

TEST_CASE("Executors of a lane go on when the lanes have gone") {
    thread_pool pool(2);
    auto l = std::make_unique<pool_lanes>(pool.get_executor());
    const auto lane = l->get_executor(3);
    std::atomic<int> ran{0};
    for (int i = 0; i != 100; ++i) (void)l->post(3, [&ran] { ran.fetch_add(1); });
    l.reset();
    for (int i = 0; i != 100; ++i) lane.post([&ran] { ran.fetch_add(1); });
    pool.wait_idle();
    CHECK(ran.load() == 200);
}

// ---- memory

TEST_CASE("Entries vanish with the last task, and ten million keys do not grow memory") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor(), {.shards = 4});
    const std::uint64_t keys = static_cast<std::uint64_t>(ekiden_test::rounds(1'000'000));
    std::uint64_t sum = 0;
    std::size_t most = 0;
    for (std::uint64_t key = 0; key != keys; ++key) {
        (void)l.post(key * 0x9e3779b97f4a7c15U, [] {});
        if (key % 1000 == 999) {
            pool.wait_idle();
            const auto now = l.metrics();
            most = std::max(most, now.memory);
            sum += now.active;
        }
    }
    CHECK(sum == 0);
    CHECK(most < 64 * 1024);
}

TEST_CASE("A lane takes at most 80 bytes besides its tasks, and gives them back") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor(), {.shards = 1});
    constexpr std::uint64_t count = 100'000;
    held_worker worker(pool);
    const std::size_t before = l.metrics().memory;
    for (std::uint64_t key = 0; key != count; ++key) (void)l.post(key, [] {});
    CHECK(l.active() == count);
    CHECK(l.metrics().memory - before <= 80 * count); // with up to two buckets
    worker.open();
    pool.wait_idle();
    CHECK(l.active() == 0);
    CHECK(l.metrics().memory <= 1024 + 64 * 80); // the shard keeps 64 entries for its next lanes
}

TEST_CASE("Posting to lanes allocates nothing once memory has been recycled") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor(), {.shards = 2});
    const auto work = [&] {
        for (std::uint64_t i = 0; i != 1000; ++i) {
            (void)l.post(i % 7, [] {});
            if (i % 10 == 0) pool.wait_idle();
        }
        pool.wait_idle();
    };
    // A shard that runs long: the worker puts it behind others, and needs a way into the queue for that.
    std::latch release(1);
    (void)l.post(0, [&release] { release.wait(); });
    for (int i = 0; i != 1000; ++i) (void)l.post(0, [] {});
    release.count_down();
    for (int i = 0; i != 10; ++i) work();
    const long before = ekiden_test::allocation_count();
    work();
    CHECK(ekiden_test::allocation_count() == before);
}

// ---- independence and fairness

TEST_CASE("Of 10,000 lanes one is blocked, and the others go on") {
    constexpr std::uint64_t count = 10'000;
    thread_pool pool(2);
    const pool_lanes l(pool.get_executor(), {.shards = 2});
    std::latch release(1);
    std::atomic<std::uint64_t> ran{0};
    (void)l.post(count / 2, [&] { release.wait(); });
    for (int round = 0; round != 3; ++round) {
        for (std::uint64_t key = 0; key != count; ++key) {
            (void)l.post(key, [&] {
                if (ran.fetch_add(1) + 1 == 3 * (count - 1)) ran.notify_one();
            });
        }
    }
    for (std::uint64_t now; (now = ran.load()) < 3 * (count - 1);) ran.wait(now);
    CHECK(l.depth(count / 2) >= 3);
    release.count_down();
    pool.wait_idle();
    CHECK(ran.load() == 3 * count);
}

TEST_CASE("A key that never runs dry does not starve the others of its shard") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor(), {.shards = 1});
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
    for (int i = 0; i != 200; ++i) (void)l.post(0, endless{l, is_over, ran});
    std::vector<long> meanwhile;
    for (int i = 0; i != ekiden_test::rounds(2000); ++i) {
        const long before = ran.load();
        const auto lane = l.get_executor(static_cast<std::uint64_t>(i) + 1);
        meanwhile.push_back(lane.submit([&ran] { return ran.load(); }).get() - before);
    }
    is_over = true;
    pool.wait_idle();
    std::sort(meanwhile.begin(), meanwhile.end());
    const long usual = meanwhile[meanwhile.size() / 2];
    MESSAGE("functions of the hot key meanwhile: " << usual << " usually, at most " << meanwhile.back());
    CHECK(usual < 64 * 64);
}

// ---- capacity

TEST_CASE("A full lane rejects, drops its oldest or the newest task, each abandoned once and counted") {
    for (const when_full policy : {when_full::reject, when_full::drop_oldest, when_full::drop_newest}) {
        thread_pool pool(1);
        const pool_lanes l(pool.get_executor(), {.lane_capacity = 3, .policy = policy});
        std::string order;
        std::atomic<int> ended{0};
        std::atomic<int> ran{0};
        held_worker worker(pool);
        int accepted = 0;
        for (char c = 'a'; c != 'f'; ++c) {
            accepted += l.post(1, [&order, c, note = counted(ended, ran)]() mutable {
                note();
                order += c;
            });
        }
        CHECK(l.depth(1) == 3);
        CHECK(l.post(2, [] {})); // another lane has room
        CHECK(ended.load() == 2);
        worker.open();
        pool.wait_idle();
        const auto now = l.metrics();
        CHECK(order == (policy == when_full::drop_oldest ? "cde" : "abc"));
        CHECK(accepted == (policy == when_full::reject ? 3 : 5));
        CHECK(now.rejected == (policy == when_full::reject ? 2 : 0));
        CHECK(now.dropped == (policy == when_full::reject ? 0 : 2));
        CHECK(ended.load() == 5);
        CHECK(ran.load() == 3);
        CHECK(l.active() == 0);
    }
}

TEST_CASE("The capacity of all lanes together") {
    for (const when_full policy : {when_full::reject, when_full::drop_oldest, when_full::drop_newest}) {
        thread_pool pool(1);
        const pool_lanes l(pool.get_executor(), {.capacity = 3, .policy = policy});
        std::string order;
        held_worker worker(pool);
        int accepted = 0;
        for (char c = 'a'; c != 'f'; ++c)
            accepted += l.post(static_cast<std::uint64_t>(c % 2), [&order, c] { order += c; }); // b, d: 0
        accepted += l.post(9, [&order] { order += 'z'; });
        CHECK(l.active() == 2);
        worker.open();
        pool.wait_idle();
        std::sort(order.begin(), order.end());
        // Dropped in favour of d: b. Of e: a. None waits in the lane of z.
        CHECK(order == (policy == when_full::drop_oldest ? "cde" : "abc"));
        CHECK(accepted == (policy == when_full::reject ? 3 : 6));
        CHECK(l.post(1, [] {})); // room again
        pool.wait_idle();
        CHECK(l.active() == 0);
    }
}

TEST_CASE("A post to a full lane waits for room, and the order of each poster is kept") {
    for (const bool in_all : {false, true}) {
        thread_pool pool(2);
        const pool_lanes l(
            pool.get_executor(),
            {.lane_capacity = in_all ? 0U : 4U, .capacity = in_all ? 4U : 0U, .policy = when_full::block});
        const int count = ekiden_test::rounds(20'000);
        std::array<std::array<int, 3>, 2> last{};
        std::atomic<int> wrong{0};
        std::atomic<int> ran{0};
        std::vector<std::thread> posters;
        for (std::size_t p = 0; p != 3; ++p) {
            posters.emplace_back([&, p] {
                for (int i = 1; i <= count; ++i) {
                    const std::size_t key = static_cast<std::size_t>(i) % 2;
                    if (!l.post(key, [&, p, i, key] {
                            if (std::exchange(last[key][p], i) >= i) wrong.fetch_add(1);
                            ran.fetch_add(1);
                        }))
                        wrong.fetch_add(1);
                    if (l.depth(key) > 4 + 2) wrong.fetch_add(1); // two other posts may wait
                }
            });
        }
        for (std::thread& t : posters) t.join();
        pool.wait_idle();
        CHECK(wrong.load() == 0);
        CHECK(ran.load() == 3 * count);
        CHECK(l.active() == 0);
    }
}

TEST_CASE("A function that runs in a lane never waits for room in these lanes") {
    for (const bool in_all : {false, true}) {
        thread_pool pool(1);
        const pool_lanes l(
            pool.get_executor(),
            {.lane_capacity = in_all ? 0U : 1U, .capacity = in_all ? 1U : 0U, .policy = when_full::block});
        int ran = 0;
        (void)l.post(1, [&] {
            for (int i = 0; i != 10; ++i) (void)l.post(1, [&ran] { ++ran; });
            for (int i = 0; i != 10; ++i) (void)l.post(2, [&ran] { ++ran; });
        });
        pool.wait_idle();
        CHECK(ran == 20);
        CHECK(l.active() == 0);
    }
}

TEST_CASE("The only worker of a pool that waits for room runs the lanes meanwhile") {
    for (const bool in_all : {false, true}) {
        thread_pool pool(1);
        const pool_lanes l(
            pool.get_executor(),
            {.lane_capacity = in_all ? 0U : 1U, .capacity = in_all ? 1U : 0U, .policy = when_full::block});
        int ran = 0;
        pool.submit([&] {
                for (int i = 0; i != 100; ++i) (void)l.post(1, [&ran] { ++ran; });
            })
            .get();
        pool.wait_idle();
        CHECK(ran == 100);
    }
}

TEST_CASE("A task of a loop that posts to full lanes of the loop does not wait") {
    for (const bool in_all : {false, true}) {
        loop_context loop;
        const lanes<std::uint64_t, loop_context::executor_type> l(
            loop.get_executor(),
            {.lane_capacity = in_all ? 0U : 1U, .capacity = in_all ? 1U : 0U, .policy = when_full::block});
        int ran = 0;
        (void)loop.get_executor().post([&] {
            for (int i = 0; i != 10; ++i) CHECK(l.post(1, [&ran] { ++ran; }));
        });
        CHECK(loop.run() != 0);
        CHECK((ran == 10 && l.metrics().beyond == 9));
    }
}

// ---- close and wait

TEST_CASE("close abandons what waits, refuses posts until the lane is idle, and leaves nothing behind") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{100}}) {
        thread_pool pool(2);
        const pool_lanes l(pool.get_executor(), {.lane_capacity = capacity});
        CHECK(l.close(1) == 0);
        std::latch has_begun(1);
        std::latch release(1);
        std::atomic<int> ended{0};
        std::atomic<int> ran{0};
        (void)l.post(1, [&] {
            has_begun.count_down();
            release.wait();
        });
        has_begun.wait();
        for (int i = 0; i != 10; ++i) (void)l.post(1, counted(ended, ran));
        CHECK(l.close(1) == 10);
        CHECK(ended.load() == 10);
        CHECK(l.post(1, counted(ended, ran)) == (capacity == 0)); // goes by way of an inbox, or is refused
        CHECK(l.active() == 1);
        while (ended.load() != 11)
            std::this_thread::yield(); // the pool's other thread may be about to drop it
        release.count_down();
        l.wait_idle(1);
        CHECK(l.active() == 0);
        CHECK(l.post(1, counted(ended, ran))); // as new
        l.wait_idle(1);
        CHECK(ran.load() == 1);
        CHECK(l.metrics().dropped + l.metrics().rejected == 11);
    }
}

TEST_CASE("close abandons what the lane's thread has taken already, too") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor());
    std::atomic<int> ended{0};
    std::atomic<int> ran{0};
    held_worker worker(pool);
    std::size_t closed = 1;
    (void)l.post(1, [&] {
        closed = l.close(1);
        (void)l.post(1, counted(ended, ran));
    });
    for (int i = 0; i != 10; ++i) (void)l.post(1, counted(ended, ran));
    worker.open();
    pool.wait_idle();
    CHECK(closed == 0); // all had been taken
    CHECK(ended.load() == 11);
    CHECK(ran.load() == 0);
    CHECK(l.active() == 0);
}

TEST_CASE("close abandons the functions of posts that wait for room in the lane, and these posts return") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{2}}) {
        thread_pool pool(1);
        const pool_lanes l(pool.get_executor(),
                           {.lane_capacity = 1, .capacity = capacity, .policy = when_full::block});
        std::atomic<int> ended{0};
        std::atomic<int> ran{0};
        held_worker worker(pool);
        CHECK(l.post(1, counted(ended, ran)));
        std::vector<std::thread> posters;
        for (int i = 0; i != 3; ++i) posters.emplace_back([&] { CHECK(l.post(1, counted(ended, ran))); });
        while (l.depth(1) != 4) std::this_thread::yield();
        CHECK(l.close(1) == 4);
        for (std::thread& t : posters) t.join();
        CHECK(ended.load() == 4);
        CHECK(l.metrics().dropped == 4);
        CHECK(l.post(1, counted(ended, ran))); // as new
        worker.open();
        l.wait_idle(1);
        CHECK(ran.load() == 1);
        CHECK(l.active() == 0);
    }
}

TEST_CASE("A post that waits for room in all lanes returns after as many older functions have begun") {
    loop_context loop(1);
    const lanes<std::uint64_t, loop_context::executor_type> l(
        loop.get_executor(), {.capacity = 2, .policy = when_full::block, .shards = 1});
    for (std::uint64_t key = 0; key != 2; ++key) CHECK(l.post(key, [] {}));
    std::atomic<int> returned{0};
    std::vector<std::thread> posters;
    for (std::uint64_t key = 2; key != 5; ++key) {
        posters.emplace_back([&, key] {
            CHECK(l.post(key, [] {}));
            returned.fetch_add(1);
        });
        while (l.depth(key) != 1) std::this_thread::yield();
    }
    CHECK(returned.load() == 0);
    loop.run();
    for (std::thread& t : posters) t.join();
    CHECK(returned.load() == 3);
    CHECK(l.metrics().run == 5);
}

TEST_CASE("wait_idle waits for the lane, in a worker too, and is refused inside of it") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor());
    int ran = 0;
    l.wait_idle(1);
    for (int i = 0; i != 1000; ++i) (void)l.post(1, [&ran] { ++ran; });
    l.wait_idle(1);
    CHECK(ran == 1000);
    pool.submit([&] {
            (void)l.post(1, [&ran] { ++ran; });
            l.wait_idle(1);
        })
        .get();
    CHECK(ran == 1001);
    bool was_refused = false;
    (void)l.post(1, [&] {
        try {
            l.wait_idle(1);
        } catch (const std::system_error& e) {
            was_refused = e.code() == std::errc::resource_deadlock_would_occur;
        }
    });
    l.wait_idle(1);
    CHECK(was_refused);
}

TEST_CASE("A post with several keys that a closed lane refuses leaves no waiter in a full lane") {
    thread_pool pool(2);
    const pool_lanes l(pool.get_executor(), {.lane_capacity = 1, .policy = when_full::block, .shards = 1});
    std::latch have_begun(2);
    std::latch release(1);
    for (const std::uint64_t key : {1U, 2U}) {
        (void)l.post(key, [&] {
            have_begun.count_down();
            release.wait();
        });
    }
    have_begun.wait();
    bool has_run = false;
    (void)l.post(1, [] {}); // now lane 1 is full
    l.close(2);
    CHECK_FALSE(l.post({1, 2}, [&has_run] { has_run = true; }));
    release.count_down();
    pool.wait_idle();
    CHECK_FALSE(has_run);
    CHECK(l.metrics().rejected == 1);
    CHECK(l.active() == 0);
}

// ---- metrics

TEST_CASE("The longest delays are kept, one of each key, the longest first") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor(), {.shards = 1, .delay_sampling = 1});
    for (std::uint64_t key = 0; key != 20; ++key) {
        held_worker worker(pool);
        for (int i = 0; i != 3; ++i) (void)l.post(key, [] {});
        worker.open();
        pool.wait_idle();
    }
    const auto now = l.metrics();
    CHECK(now.delays.size() == 8);
    for (std::size_t i = 0; i != now.delays.size(); ++i) {
        CHECK(now.delays[i].ns > 0);
        for (std::size_t j = 0; j != i; ++j) {
            CHECK(now.delays[j].ns >= now.delays[i].ns);
            CHECK(now.delays[j].key != now.delays[i].key);
        }
    }
    CHECK(now.posted == 60);
    CHECK(now.run == 60);
}

TEST_CASE("Options that make no sense are refused") {
    thread_pool pool(1);
    CHECK_THROWS_WITH_AS(pool_lanes(pool.get_executor(), {.shards = 5000}),
                         "lanes: shards is 5000, allowed is 0 (one per usable processor) to 4096",
                         std::invalid_argument);
}
