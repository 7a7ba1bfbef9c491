// How one coroutine goes on with another: the handles that are passed, and the ends of frames.
#include "../effort.hpp"
#include "run_coroutine.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sys/thread_probe.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

using namespace ekiden;
using namespace ekiden_test;
using namespace std::chrono_literals;

namespace {

/// Suspends, and goes on with a coroutine that does nothing: one of its own, for no two need be equal.
class aside {
public:
    explicit aside(std::coroutine_handle<>& waiting) noexcept : waiting_(waiting) {}
    static bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> own) const noexcept {
        waiting_ = own;
        return std::noop_coroutine();
    }
    static int await_resume() noexcept { return 1; }

private:
    std::coroutine_handle<>& waiting_;
};

} // namespace

TEST_CASE(
    "rule: a handle is not compared with noop_coroutine(): an awaiter that goes on with one has suspended") {
    loop_context loop;
    std::coroutine_handle<> waiting;
    auto sum = begin_on(loop.get_executor(), [&]() -> coroutine<int> {
        int n = 0;
        for (int i = 0; i != 3; ++i) n += co_await aside(waiting);
        co_return n;
    });
    for (int i = 0; i != 3; ++i) {
        loop.restart();
        loop.poll();
        REQUIRE(waiting);
        REQUIRE_FALSE(sum.is_ready());
        std::exchange(waiting, nullptr).resume();
    }
    loop.restart();
    loop.poll();
    CHECK(sum.get() == 3);
}

TEST_CASE("rule: a coroutine that does nothing may be the one that waits") {
    loop_context loop;
    event e;
    const auto at_once = []() -> coroutine<int> { co_return 2; };
    const auto later = [&]() -> coroutine<int> {
        co_await async_wait(e);
        co_return 3;
    };
    const std::coroutine_handle<> nobody = std::noop_coroutine();
    {
        auto awaiter = at_once().operator co_await();
        CHECK_FALSE(awaiter.await_suspend(nobody)); // has ended, so `nobody` would not be resumed
        CHECK(awaiter.await_resume() == 2);
    }
    {
        auto awaiter = later().operator co_await();
        CHECK(awaiter.await_suspend(nobody));
        e.set();
        default_pool().wait_idle(); // where coroutines go home that have no other
        CHECK(awaiter.await_resume() == 3);
    }
}

TEST_CASE("rule: the end of a coroutine touches no frame that the one it wakes has freed") {
    // The last of three ends on one of three threads; then all four frames go at once.
    thread_pool pool(3);
    std::atomic<int> alive{0};
    for (int round = 0; round != rounds(5000); ++round) {
        event go;
        auto sum = begin_on(pool.get_executor(), [&]() -> coroutine<int> {
            const auto member = [&]() -> coroutine<std::vector<int>> {
                const witness local(alive);
                co_await yield();
                co_await async_wait(go);
                co_return std::vector<int>(3, 1);
            };
            std::vector<std::function<coroutine<std::vector<int>>()>> three(3, member);
            int n = 0;
            for (const auto& each : co_await when_all(std::move(three))) n += each[1];
            co_return n;
        });
        if (round % 2 == 0) std::this_thread::yield();
        go.set();
        REQUIRE(sum.get() == 3);
        REQUIRE(alive == 0);
    }
}

#if defined(__linux__) && !defined(EKIDEN_TSAN) // tells of other threads; TSan runs in them as well
TEST_CASE("rule: no time-out stands in for a wake-up: a thread without work sleeps until it is woken") {
    thread_pool pool({.threads = 2, .watch_interval = 0ms});
    loop_context many;
    loop_context single(1);
    many.get_executor().on_work_started();
    single.get_executor().on_work_started();
    std::vector<std::thread> threads;
    threads.emplace_back([&] { many.run(); });
    threads.emplace_back([&] { many.run(); });
    threads.emplace_back([&] { single.run(); });
    event never;
    std::vector<future<void>> all;
    const auto waits = [&]() -> coroutine<> { co_await async_wait(never); };
    std::array<sys::thread_probe, 5> probes;
    std::atomic<std::size_t> known{0};
    const auto ask = [&](const any_executor& where, std::size_t count) {
        // As many tasks at once as there are threads, each held until all have begun.
        std::atomic<std::size_t> begun{0};
        std::atomic<std::size_t> left{count};
        for (std::size_t i = 0; i != count; ++i) {
            where.post([&] {
                probes[known++] = sys::thread_probe::of_this_thread();
                ++begun;
                until([&] { return begun == count; });
                --left;
            });
        }
        until([&] { return left == 0; });
        for (int i = 0; i != 100; ++i) all.push_back(begin_on(where, waits));
    };
    ask(pool.get_executor(), 2);
    ask(many.get_executor(), 2);
    ask(single.get_executor(), 1);
    const auto used = [&] {
        std::array<std::uint64_t, 5> ns{};
        for (std::size_t i = 0; i != ns.size(); ++i) ns[i] = probes[i].cpu_ns();
        return ns;
    };
    // They fall asleep some time; one that looked again and again would never pass.
    bool is_still = false;
    for (int i = 0; i != 100 && !is_still; ++i) {
        bool is_asleep = true;
        for (const auto& each : probes) is_asleep = is_asleep && each.is_asleep();
        const auto before = used();
        std::this_thread::sleep_for(100ms);
        is_still = is_asleep && used() == before;
    }
    CHECK(is_still);
    never.set();
    for (auto& each : all) each.get();
    many.get_executor().on_work_finished();
    single.get_executor().on_work_finished();
    for (auto& each : threads) each.join();
}
#endif
