// Loops that are over before a thread that was woken for them would run.
#include <ekiden/fork/detail/fork_participant.hpp>
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
#include <string>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;
using ekiden::detail::loop_history;

namespace {

/// Returns how many short loops it takes until the next loop is expected to be short; at most 10^6.
int short_loops_until_quiet(loop_history& history) {
    int count = 0;
    while (!history.expects_short_loop() && count != 1'000'000) {
        history.add(10'000, false);
        ++count;
    }
    return count;
}

/// A worker that counts as asleep, a worker that watches again and again, and a participant that forks.
struct asleep {
    ekiden::event_count sleep{2, {[](const void*) noexcept { return false; }, nullptr}};
    ekiden::fork_arena arena{sleep};
    ekiden::fork_participant& participant = arena.enter();
    std::atomic<bool> is_over{false};
    std::thread watcher;

    explicit asleep(bool has_watcher = true) {
        sleep.prepare_wait(0, false);
        if (!has_watcher) return;
        watcher = std::thread([this] {
            while (!is_over) {
                (void)sleep.is_watched();
                sleep.prepare_wait(1, false);
                (void)sleep.commit_wait(1, nullptr);
            }
        });
        while (!sleep.is_watched()) std::this_thread::yield();
    }
    ~asleep() {
        is_over = true;
        if (!watcher.joinable()) return;
        sleep.signal(1);
        watcher.join();
    }

    template <class Body>
    bool is_woken_by(std::uint64_t quiet_until, Body body) {
        ekiden::fork_segment segment(participant, nullptr, quiet_until);
        body(static_cast<ekiden::fork_scope&>(segment.base));
        return !sleep.is_waiting(0);
    }
};

/// Calls `test()` until it returns true; gives up after 10^4 times. Between two of its watches, the watcher
/// is awake for a moment.
template <class Test>
bool succeeds_once(Test test) {
    for (int round = 0; round != 10'000; ++round)
        if (test()) return true;
    return false;
}

constexpr auto fork_two = [](ekiden::fork_scope& scope) {
    ekiden::parallel_invoke(scope, [](ekiden::fork_scope& inner) { inner.offer_all(); }, [] {});
};
void fork_nested(ekiden::fork_scope& scope, int depth) {
    if (depth == 0) return;
    ekiden::parallel_invoke(
        scope, [depth](ekiden::fork_scope& inner) { fork_nested(inner, depth - 1); }, [] {});
}
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

TEST_CASE("a loop is expected to be short after 101 short ones, and not after a long one") {
    loop_history history;
    CHECK(!history.expects_short_loop());
    CHECK(short_loops_until_quiet(history) == 101);
    for (int i = 0; i != 1000; ++i) history.add(10'000, false);
    history.add(1'000'000, true);
    CHECK(short_loops_until_quiet(history) == 101);
    history.add(std::numeric_limits<std::uint64_t>::max() / 2, true);
    CHECK(short_loops_until_quiet(history) == 101);
    for (int i = 0; i != 100'000; ++i) history.add(10'000'000, true);
    CHECK(short_loops_until_quiet(history) == 101);
}

TEST_CASE("a loop that was interrupted among short ones does not end the quiet") {
    loop_history history;
    (void)short_loops_until_quiet(history);
    for (int i = 0; i != 1000; ++i) history.add(10'000, false);
    for (int i = 0; i != 1000; ++i) {
        CHECK(history.expects_short_loop());
        history.add(i % 40 == 0 ? 160'000 : 10'000, true);
    }
}

TEST_CASE("a loop that took 150 us is long, and matters only if it was quiet") {
    loop_history history;
    for (int i = 0; i != 1000; ++i) history.add(150'000, false);
    CHECK(!history.expects_short_loop());
    for (int i = 0; i != 101; ++i) history.add(149'999, false);
    CHECK(history.expects_short_loop());
    history.add(150'000, false);
    CHECK(history.expects_short_loop());
    history.add(150'000, true);
    CHECK(short_loops_until_quiet(history) == 30);
}

TEST_CASE("a quiet tree wakes no worker if a worker watches, and wakes one when its quiet ends") {
    CHECK(asleep(false).is_woken_by(0, fork_two));
    CHECK(asleep(false).is_woken_by(for_ever, fork_two)); // no worker watches
    CHECK(succeeds_once([] { return !asleep().is_woken_by(for_ever, fork_two); }));
    CHECK(asleep().is_woken_by(0, fork_two));

    asleep one;
    CHECK(one.is_woken_by(ekiden::sys::now_ns() + 20'000'000, [&one](ekiden::fork_scope& scope) {
        ekiden::parallel_invoke(
            scope,
            [&one](ekiden::fork_scope& inner) {
                inner.offer_all();
                while (one.sleep.is_waiting(0)) (void)inner.is_work_wanted();
            },
            [] {});
    }));
}

TEST_CASE("a tree that publishes many children wakes more than one worker at a time") {
    ekiden::event_count sleep(6, {[](const void*) noexcept { return false; }, nullptr});
    ekiden::fork_arena arena(sleep);
    for (unsigned w = 0; w != 6; ++w) sleep.prepare_wait(w, false);
    ekiden::fork_segment segment(arena.enter(), nullptr);
    fork_nested(segment.base, 2);
    CHECK(sleep.waiting() == 5); // worker 0 has the token, and will wake others
    fork_nested(segment.base, 4);
    CHECK(sleep.waiting() == 4);
}

TEST_CASE("a thief searches behind its own place in the list first, and its own children last") {
    ekiden::event_count sleep(1, {[](const void*) noexcept { return false; }, nullptr});
    ekiden::fork_arena arena(sleep);
    ekiden::fork_participant oldest(arena), older(arena), thief(arena), newer(arena), newest(arena);
    for (auto* const one : {&oldest, &older, &thief, &newer, &newest}) arena.add(*one);
    std::string order;
    // Each participant publishes its first forked call, because a request is set when a tree begins.
    std::function<void(std::string_view)> offer = [&](std::string_view names) {
        if (names.empty()) {
            while (ekiden::fork_child* const found = thief.find()) thief.run(*found);
            return;
        }
        auto& owner = names[0] == 'o'   ? oldest
                      : names[0] == 'p' ? older
                      : names[0] == 't' ? thief
                      : names[0] == 'n' ? newer
                                        : newest;
        ekiden::fork_segment segment(owner, nullptr);
        ekiden::parallel_invoke(
            segment.base, [&](ekiden::fork_scope&) { offer(names.substr(1)); }, [&] { order += names[0]; });
    };
    offer("optnN");
    CHECK(order == "poNnt");
    // The last victim comes first.
    order.clear();
    offer("oN");
    CHECK(order == "oN");
}

TEST_CASE("a tree inside of quiet trees wakes a worker, and so do the outer ones afterwards") {
    CHECK(succeeds_once([] {
        asleep one;
        bool has_slept = false;
        CHECK(one.is_woken_by(for_ever, [&](ekiden::fork_scope& scope) {
            const auto second = [&](ekiden::fork_scope& inner) {
                inner.offer_all();
                has_slept = one.sleep.is_waiting(0);
                const ekiden::fork_segment tree(one.participant, nullptr);
                CHECK(!one.sleep.is_waiting(0)); // for what the outer ones have published
            };
            const auto first = [&](ekiden::fork_scope& inner) {
                inner.offer_all();
                ekiden::fork_segment tree(one.participant, nullptr, for_ever);
                ekiden::parallel_invoke(tree.base, second, [] {});
            };
            ekiden::parallel_invoke(scope, first, [] {});
            (void)one.sleep.cancel_wait(0); // it was given the token
            one.sleep.prepare_wait(0, true);
            fork_two(scope);
        }));
        return has_slept;
    }));
}

TEST_CASE("a quiet tree inside of one that is not leaves that as it is") {
    CHECK(succeeds_once([] {
        asleep one;
        bool has_slept = false;
        CHECK(one.is_woken_by(0, [&](ekiden::fork_scope& scope) {
            {
                ekiden::fork_segment tree(one.participant, nullptr, for_ever);
                fork_two(tree.base);
            }
            has_slept = one.sleep.is_waiting(0);
            fork_two(scope);
        }));
        return has_slept;
    }));
}

TEST_CASE("the quiet of a guest's tree ends with the tree") {
    CHECK(succeeds_once([] {
        asleep one;
        if (one.is_woken_by(for_ever, fork_two)) return false;
        CHECK(one.is_woken_by(0, fork_two));
        return true;
    }));
}

TEST_CASE("a thread that is awake and looks for work gets some of a quiet tree") {
    asleep one;
    CHECK(one.sleep.try_begin_search()); // another thread
    ekiden::fork_segment segment(one.participant, nullptr, for_ever);
    ekiden::parallel_invoke(
        segment.base, [&one](ekiden::fork_scope&) { CHECK(one.participant.maybe_offers()); }, [] {});
    CHECK(one.sleep.is_waiting(0));
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

TEST_CASE("two calls run in parallel although the workers sleep, also if the loops before were short") {
    ekiden::thread_pool pool({.threads = 1});
    std::atomic<int> begun{0};
    bool is_long = false;
    // A long call waits until the other one has begun. Programs must not do that.
    const auto call = [&] {
        if (!is_long) return;
        ++begun;
        while (begun != 2) std::this_thread::yield();
    };
    const auto invoke = [&] { ekiden::parallel_invoke(pool, call, call); };
    const auto loop = [&] { ekiden::parallel_for(pool, 0, 2, [&](int) { call(); }); };
    const auto reduce = [&] {
        CHECK(ekiden::parallel_reduce(pool, 0, 2, 0, [&](int i) { return call(), i; }) == 1);
    };
    const auto run_long = [&](const auto& calls) {
        is_long = true;
        for (int round = 0; round != 5; ++round) {
            std::this_thread::sleep_for(1ms); // the worker sleeps
            begun = 0;
            calls();
            CHECK(begun == 2);
        }
        is_long = false;
    };
    run_long(invoke);
    run_long(loop);
    run_long(reduce);
    CHECK(sleep_through(pool, loop));
    run_long(loop);
    CHECK(sleep_through(pool, reduce));
    run_long(reduce);
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
