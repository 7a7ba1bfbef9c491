// The coroutines in the dump of a pool.
#include "../effort.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>

#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <future>
#include <string>
#include <thread>
#include <vector>

using namespace ekiden;

namespace {

std::string coroutines_in_dump(const thread_pool& pool) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    std::thread writer([&] {
        pool.dump(ends[1]);
        ::close(ends[1]);
    });
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(n));
    ::close(ends[0]);
    writer.join();
    const std::size_t at = text.find("  coroutine");
    return at == std::string::npos ? std::string() : text.substr(at);
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
}

constexpr int waits_for_event_at = __LINE__ + 2;
coroutine<int> waits_for_event(event& e) {
    co_await async_wait(e);
    co_return 1;
}
coroutine<int> counts_down(event& e, int n) {
    if (n == 0) co_return co_await waits_for_event(e);
    co_return 1 + co_await counts_down(e, n - 1);
}

coroutine<> waits_for(loop_context& loop, int n) {
    if (n == 0)
        co_await resume_on(loop.get_executor());
    else
        co_await waits_for(loop, n - 1);
}

coroutine<> allocates_at_ends(int turns) {
    for (int i = 0; i != turns; ++i) {
        event set(true);
        (void)co_await counts_down(set, i % 8);
        co_await yield();
    }
}

} // namespace

TEST_CASE("a dump shows the chain of awaits of each coroutine that waits, with the line of each await") {
    thread_pool pool({.threads = 1, .name = "dumped"});
    event e;
    spawn_options named;
    named.name("reader");
    auto ended = co_spawn(pool.get_executor(), counts_down(e, 2), use_future, named);
    auto other = co_spawn(pool.get_executor(), waits_for_event(e), use_future);
    pool.wait_idle();
    const std::string text = coroutines_in_dump(pool);
    CHECK(count(text, "  coroutine: ") == 2);
    CHECK(count(text, "  coroutine: reader: ") == 1);
    CHECK(count(text, "    awaits ") == 5);
    CHECK(count(text, "counts_down") == 3);
    CHECK(count(text, "dump_test.cpp:") == 5);
    CHECK(count(text, "at line " + std::to_string(waits_for_event_at)) == 2);
    CHECK(text.find("move") == std::string::npos);
    e.set();
    CHECK(ended.get() == 3);
    CHECK(other.get() == 1);
    pool.wait_idle();
    CHECK(coroutines_in_dump(pool).empty());
}

TEST_CASE("a dump counts the coroutines that move, and those that it has no room for") {
    thread_pool pool(1);
    event e;
    std::atomic<bool> ends{false};
    std::atomic<int> turns{0};
    const auto moves = [&]() -> coroutine<> {
        while (!ends) {
            if (++turns % 2 == 0)
                co_await yield();
            else
                co_await yield(); // the other line
        }
    };
    std::vector<future<int>> all;
    for (int i = 0; i != 200; ++i)
        all.push_back(co_spawn(pool.get_executor(), waits_for_event(e), use_future));
    pool.wait_idle();
    std::string text = coroutines_in_dump(pool);
    CHECK(count(text, "  coroutine: ") == 128);
    CHECK(text.find("  coroutines that are not shown: 72\n") != std::string::npos);
    e.set();
    for (auto& each : all) CHECK(each.get() == 1);
    pool.wait_idle();
    auto moving = co_spawn(pool.get_executor(), moves, use_future);
    do { // its line may be the same in both samples by chance
        text = coroutines_in_dump(pool);
    } while (text.find("  coroutines that move: 1\n") == std::string::npos);
    ends = true;
    moving.get();
}

TEST_CASE("dumps may run while coroutines begin, await and end in other threads") {
    thread_pool pool(2);
    std::vector<future<void>> all;
    for (int i = 0; i != 8; ++i)
        all.push_back(
            co_spawn(pool.get_executor(), allocates_at_ends(ekiden_test::rounds(2000)), use_future));
    std::string text;
    do {
        text += coroutines_in_dump(pool);
    } while (!all.back().is_ready());
    for (auto& each : all) each.get();
    CHECK(count(text, "?") == 0); // no text was unreadable
}

TEST_CASE("dumps may run while a loop is destroyed, with coroutines of the pool that wait in the loop") {
    thread_pool pool(1);
    std::atomic<bool> is_over{false};
    std::string text;
    std::thread dumps([&] {
        while (!is_over) text = coroutines_in_dump(pool);
    });
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        loop_context loop(1); // does not run, so its destructor destroys the coroutines
        for (int i = 0; i != 16; ++i) co_spawn(pool.get_executor(), waits_for(loop, 3));
        pool.wait_idle();
    }
    is_over = true;
    dumps.join();
    CHECK(count(text, "?") == 0); // no text was unreadable
    pool.wait_idle();
    CHECK(coroutines_in_dump(pool).empty());
}
