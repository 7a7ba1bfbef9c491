// Fork trees that are over before a thread that was woken for them would run.
#include <ekiden/fork/detail/fork_party.hpp>
#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/fork/parallel_reduce.hpp>
#include <ekiden/pool/detail/event_count.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/clock.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

using namespace std::chrono_literals;
using ekiden::detail::fork_history;

namespace {

constexpr std::uint64_t wake_up_ns = 40'000;
constexpr std::uint64_t look_ns = 10'000;

/// How many short trees it takes until the next is expected to be short; at most 10^6.
int short_ones_until_quiet(fork_history& history) {
    int count = 0;
    while (!history.advises_quiet() && count != 1'000'000) {
        history.add(10'000, wake_up_ns, false);
        ++count;
    }
    return count;
}

/// One worker that counts as asleep, and a party that forks.
struct asleep {
    ekiden::event_count sleep{1, {[](const void*) noexcept { return false; }, nullptr}};
    ekiden::fork_arena arena{sleep, look_ns};
    ekiden::fork_party& party = arena.enter();

    asleep() { sleep.prepare_wait(0, false); }

    template <class Body>
    bool is_woken_by(std::uint64_t quiet_until, Body body) {
        ekiden::fork_segment segment(party, nullptr, quiet_until);
        body(static_cast<ekiden::fork_scope&>(segment.base));
        return !sleep.is_waiting(0);
    }
};

constexpr auto fork_two = [](ekiden::fork_scope& scope) {
    ekiden::parallel_invoke(scope, [](ekiden::fork_scope& inner) { inner.offer_all(); }, [] {});
};
constexpr std::uint64_t for_ever = std::numeric_limits<std::int64_t>::max();

/// Calls `loop` after pauses, until the pool's workers have slept through five in a row: on a busy machine
/// any loop may be interrupted, and is a long one then. Without quiet trees each loop wakes a worker.
template <class Loop>
bool sleep_through(ekiden::thread_pool& pool, const Loop& loop) {
    constexpr int enough = 5;
    int in_a_row = 0;
    for (int round = 0; round != 20'000 && in_a_row != enough; ++round) {
        std::this_thread::sleep_for(300us);
        const std::uint64_t before = pool.metrics().wakes;
        loop();
        std::this_thread::sleep_for(300us); // a worker that was woken is asleep again
        in_a_row = pool.metrics().wakes == before ? in_a_row + 1 : 0;
    }
    return in_a_row == enough;
}

} // namespace

TEST_CASE("a history advises quiet after some short trees, and no more after a long one") {
    fork_history history;
    CHECK(!history.advises_quiet());
    const int first = short_ones_until_quiet(history);
    CHECK(first > 10);
    CHECK(first < 100);

    history.add(5'000'000, wake_up_ns, true); // 5 ms lost, 5 us saved by each short one
    const int after_five_ms = short_ones_until_quiet(history);
    CHECK(after_five_ms > 800);
    history.add(3'000'000'000, wake_up_ns, true); // 10 ms at most are lost
    const int after_all = short_ones_until_quiet(history);
    CHECK(after_all > after_five_ms);
    CHECK(after_all < 3'000);
}

TEST_CASE("one long tree in a row of short ones does not end the quiet") {
    fork_history history;
    (void)short_ones_until_quiet(history);
    for (int i = 0; i != 1000; ++i) history.add(10'000, wake_up_ns, true);
    for (int i = 0; i != 1000; ++i) {
        CHECK(history.advises_quiet());
        history.add(i % 20 == 0 ? wake_up_ns * 3 / 2 : 10'000, wake_up_ns, true);
    }
}

TEST_CASE("long trees that were not expected to be short are soon forgotten") {
    fork_history history;
    for (int i = 0; i != 100'000; ++i) history.add(10'000'000, wake_up_ns, false);
    CHECK(short_ones_until_quiet(history) < 100);
    for (int i = 0; i != 100'000; ++i) history.add(10'000'000, wake_up_ns, false);
    CHECK(!history.advises_quiet());
}

TEST_CASE("while it is not known how long a wake-up takes, nobody is left asleep") {
    fork_history history;
    for (int i = 0; i != 100'000; ++i) history.add(1, 0, false);
    CHECK(!history.advises_quiet());
}

TEST_CASE("a quiet tree wakes nobody, and what it has published is told at the end of the quiet") {
    CHECK(asleep().is_woken_by(0, fork_two));
    CHECK(!asleep().is_woken_by(for_ever, fork_two));
    CHECK(asleep().is_woken_by(1, fork_two)); // long ago

    asleep one;
    CHECK(one.is_woken_by(ekiden::sys::now_ns() + 20'000'000, [&one](ekiden::fork_scope& scope) {
        ekiden::parallel_invoke(
            scope,
            [&one](ekiden::fork_scope& inner) {
                inner.offer_all();
                while (one.sleep.is_waiting(0)) CHECK_FALSE(inner.is_work_wanted());
            },
            [] {});
    }));
}

TEST_CASE("a fork inside of quiet trees that have more on offer than workers sleep wakes one") {
    asleep one;
    CHECK(one.is_woken_by(for_ever, [&one](ekiden::fork_scope& scope) {
        const auto fork_inside = [&one] {
            ekiden::fork_segment tree(one.party, nullptr);
            ekiden::parallel_invoke(tree.base, [] {}, [] {});
        };
        const auto second = [&](ekiden::fork_scope& inner) {
            inner.offer_all();
            CHECK(one.sleep.is_waiting(0));
            fork_inside();
        };
        const auto first = [&](ekiden::fork_scope& inner) {
            inner.offer_all();
            ekiden::fork_segment tree(one.party, nullptr, for_ever);
            ekiden::parallel_invoke(tree.base, second, [] {});
        };
        ekiden::parallel_invoke(scope, first, [] {});
    }));
}

TEST_CASE("the end of a tree's quiet is seen at a fork of a quiet tree inside of it") {
    asleep one;
    const std::uint64_t soon = ekiden::sys::now_ns() + 20'000'000;
    CHECK(one.is_woken_by(soon, [&one, soon](ekiden::fork_scope& scope) {
        const auto first = [&](ekiden::fork_scope& inner) {
            inner.offer_all();
            CHECK(one.sleep.is_waiting(0));
            while (ekiden::sys::now_ns() < soon) std::this_thread::yield();
            ekiden::fork_segment tree(one.party, nullptr, for_ever);
            ekiden::parallel_invoke(tree.base, [] {}, [] {});
            CHECK(!one.sleep.is_waiting(0));
        };
        ekiden::parallel_invoke(scope, first, [] {});
    }));
}

TEST_CASE("a thread that is awake and looks for work gets some of a quiet tree") {
    asleep one;
    CHECK(one.sleep.try_begin_search()); // somebody else
    ekiden::fork_segment segment(one.party, nullptr, for_ever);
    ekiden::parallel_invoke(
        segment.base, [&one](ekiden::fork_scope&) { CHECK(one.party.maybe_offers()); }, [] {});
    CHECK(one.sleep.is_waiting(0));
}

TEST_CASE("short trees that follow each other closely are quiet for the time of one wake-up together") {
    asleep one; // no wake-up has been measured: 0
    CHECK(one.party.begin_tree(1'000'000) == 1'000'000);
    one.party.end_tree(1'010'000);
    CHECK(one.party.begin_tree(1'010'000 + look_ns - 1) == 1'000'000);
    one.party.end_tree(1'030'000);
    CHECK(one.party.begin_tree(1'030'000 + look_ns) == 1'030'000 + look_ns);
}

TEST_CASE("loops that are always short leave the workers asleep") {
    ekiden::thread_pool pool({.threads = 2});
    CHECK(sleep_through(pool, [&pool] { ekiden::parallel_for(pool, 0, 20, [](int) {}); }));
    CHECK(sleep_through(pool, [&pool] {
        CHECK(ekiden::parallel_reduce(pool, 0, 20, 0, [](int i) { return i; }, std::plus<>()) == 190);
    }));
}

TEST_CASE("a loop that is long after many short ones runs in several threads") {
    std::mutex lock;
    std::set<std::thread::id> threads;
    ekiden::thread_pool pool({.threads = 2});
    const auto loop = [&](std::chrono::milliseconds each) {
        ekiden::parallel_for(pool, 0, 10, [&lock, &threads, each](int) {
            if (each == 0ms) return;
            std::this_thread::sleep_for(each);
            const std::lock_guard guard(lock);
            threads.insert(std::this_thread::get_id());
        });
    };
    CHECK(sleep_through(pool, [&] { loop(0ms); }));
    loop(50ms);
    CHECK(threads.size() > 1);
}

TEST_CASE("iterations that wait for one another, though they should not, are found by a worker that looks") {
    std::atomic<bool> is_second{false};
    ekiden::thread_pool pool({.threads = 1});
    const auto loop = [&](bool waits) {
        ekiden::parallel_for(pool, 0, 2, [&is_second, waits](int i) {
            if (!waits) return;
            if (i == 1) is_second = true;
            while (!is_second) std::this_thread::yield();
        });
    };
    CHECK(sleep_through(pool, [&] { loop(false); }));
    loop(true);
    CHECK(is_second);
}

TEST_CASE("short loops that follow each other closely run in several threads") {
    using clock = std::chrono::steady_clock;
    std::mutex lock;
    std::set<std::thread::id> threads;
    ekiden::thread_pool pool({.threads = 2});
    const auto loop = [&](bool is_counted) {
        ekiden::parallel_for(pool, 0, 4, [&lock, &threads, is_counted](int) {
            if (!is_counted) return;
            for (const auto end = clock::now() + 2us; clock::now() < end;) {
            }
            const std::lock_guard guard(lock);
            threads.insert(std::this_thread::get_id());
        });
    };
    CHECK(sleep_through(pool, [&] { loop(false); }));
    for (int round = 0; round != 1'000'000 && threads.size() < 2; ++round) loop(true);
    CHECK(threads.size() > 1);
}

TEST_CASE("an exception ends a quiet tree, and the next one is as good as ever") {
    ekiden::thread_pool pool({.threads = 2});
    const auto loop = [&pool](bool throws) {
        ekiden::parallel_for(pool, 0, 20, [throws](int i) {
            if (throws && i == 7) throw std::runtime_error("seven");
        });
    };
    CHECK(sleep_through(pool, [&] { loop(false); }));
    for (int round = 0; round != 100; ++round) {
        CHECK_THROWS_WITH_AS(loop(true), "seven", std::runtime_error);
        loop(false);
    }
}
