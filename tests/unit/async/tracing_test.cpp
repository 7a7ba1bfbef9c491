// What the library's own parts tell a trace: every task that was posted and run, waits, turns, timers,
// coroutines.
#include <doctest/doctest.h>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace ekiden;
using trace::kind;

namespace {

struct recording {
    recording() { trace::start(); }
    ~recording() { trace::stop(); }
};

std::vector<std::pair<const trace::track*, trace::event>> all_of(const trace::snapshot& shot, kind what,
                                                                 std::string_view part = {}) {
    std::vector<std::pair<const trace::track*, trace::event>> found;
    for (const trace::track& t : shot.tracks)
        for (const trace::event& e : t.events)
            if (e.kind == what && e.name.find(part) != e.name.npos) found.emplace_back(&t, e);
    return found;
}

/// Tasks whose type has this in its name.
struct traced_job {
    void operator()() const {}
};

/// Each task of this name that has run was queued before: one event of each, matched by id in the order of
/// time.
void check_each_was_queued(const trace::snapshot& shot, std::string_view name, std::size_t count) {
    const auto run = all_of(shot, kind::task, name);
    CHECK(run.size() == count);
    std::map<std::uint64_t, std::vector<std::int64_t>> queued;
    for (const auto& [where, e] : all_of(shot, kind::queued)) queued[e.id].push_back(e.begin);
    std::map<std::uint64_t, std::vector<std::int64_t>> begun;
    for (const auto& [where, e] : run) begun[e.id].push_back(e.begin);
    for (auto& [id, begins] : begun) {
        std::vector<std::int64_t>& posts = queued[id];
        std::sort(posts.begin(), posts.end());
        std::sort(begins.begin(), begins.end());
        REQUIRE(posts.size() >= begins.size()); // others may have had the address, too
        for (std::size_t i = 0; i != begins.size(); ++i) CHECK(posts[i] <= begins[i]);
    }
}

} // namespace

TEST_CASE("each task of a pool is shown queued and run, on the thread that ran it") {
    thread_pool pool({.threads = 2, .name = "traced"});
    const recording on;
    for (int i = 0; i != 200; ++i) pool.post(traced_job());
    pool.post([&pool] {
        for (int i = 0; i != 100; ++i) pool.post(traced_job());
    });
    pool.wait_idle();
    const trace::snapshot shot = trace::take();
    check_each_was_queued(shot, "traced_job", 300);
    for (const auto& [where, e] : all_of(shot, kind::task, "traced_job"))
        CHECK(where->thread_name.starts_with("traced-"));
}

TEST_CASE("a task that throws is shown, too") {
    thread_pool pool({.threads = 1, .on_unhandled_exception = [](std::exception_ptr, std::string_view) {}});
    const recording on;
    struct traced_throw {
        void operator()() const { throw std::runtime_error("expected"); }
    };
    pool.post(traced_throw());
    pool.post(traced_job());
    pool.wait_idle();
    const trace::snapshot shot = trace::take();
    check_each_was_queued(shot, "traced_throw", 1);
    for (const auto& [where, e] : all_of(shot, kind::task)) CHECK_FALSE(e.is_open);
}

TEST_CASE("a task that runs inside of another one's wait lies inside of it") {
    thread_pool pool({.threads = 1});
    const recording on;
    struct outer_job {
        thread_pool& pool;
        void operator()() const { pool.submit(traced_job()).get(); }
    };
    pool.submit(outer_job{pool}).get();
    pool.wait_idle();
    const trace::snapshot shot = trace::take();
    const auto outer = all_of(shot, kind::task, "outer_job");
    const auto inner = all_of(shot, kind::task, "traced_job");
    REQUIRE(outer.size() == 1);
    REQUIRE(inner.size() == 1);
    CHECK(inner[0].first == outer[0].first);
    CHECK(outer[0].second.begin <= inner[0].second.begin);
    CHECK(inner[0].second.end() <= outer[0].second.end());
}

TEST_CASE("handlers of strands, lanes and loops are shown queued and run") {
    thread_pool pool({.threads = 2});
    loop_context loop;
    const recording on;
    {
        strand s(pool.get_executor());
        lanes<int> keyed(pool.get_executor());
        lanes<int> bounded(pool.get_executor(), {.lane_capacity = 1000});
        for (int i = 0; i != 50; ++i) {
            s.post(traced_job());
            (void)keyed.post(i % 3, traced_job());
            (void)bounded.post(i % 3, traced_job());
            post(loop.get_executor(), traced_job());
        }
        pool.wait_idle();
        CHECK(loop.run() == 50);
    }
    const trace::snapshot shot = trace::take();
    check_each_was_queued(shot, "traced_job", 200);
    const auto strand_turns = all_of(shot, kind::turn, "strand");
    REQUIRE(!strand_turns.empty());
    for (const auto& [where, e] : strand_turns) CHECK(e.id == strand_turns[0].second.id);
    std::vector<std::uint64_t> lanes_seen;
    for (const auto& [where, e] : all_of(shot, kind::turn, "lane")) lanes_seen.push_back(e.id);
    std::sort(lanes_seen.begin(), lanes_seen.end());
    lanes_seen.erase(std::unique(lanes_seen.begin(), lanes_seen.end()), lanes_seen.end());
    CHECK(lanes_seen.size() == 3); // the same key has the same id, in both
}

TEST_CASE("a wait for a lock is shown with the lock's kind, and the grant that ended it") {
    mutex m;
    const recording on;
    m.lock();
    std::atomic<bool> has_begun{false};
    std::thread waiter([&] {
        has_begun.store(true);
        m.lock();
        m.unlock();
    });
    // Until it sleeps for the lock, and this can be seen.
    for (bool sleeps = false; !sleeps;) {
        for (const auto& [where, e] : all_of(trace::take(), kind::lock_wait)) sleeps = sleeps || e.is_open;
    }
    m.unlock();
    waiter.join();
    const trace::snapshot shot = trace::take();
    const auto waits = all_of(shot, kind::lock_wait, "mutex");
    REQUIRE(waits.size() >= 1);
    const auto grants = all_of(shot, kind::granted);
    REQUIRE(grants.size() >= 1);
    CHECK(grants[0].second.id == waits[0].second.id);
    CHECK(grants[0].first != waits[0].first);
    CHECK(grants[0].second.begin <= waits[0].second.end());
}

TEST_CASE("a blocked worker is shown with what it said, a sleeping one as parked, and who woke it") {
    thread_pool pool({.threads = 1});
    const recording on;
    pool.submit([] { const blocking_region here("a disk"); }).get();
    // It sleeps in the end, and then the next post wakes it.
    for (bool sleeps = false; !sleeps;) {
        for (const auto& [where, e] : all_of(trace::take(), kind::parked)) sleeps = sleeps || e.is_open;
    }
    pool.submit(traced_job()).get();
    const trace::snapshot shot = trace::take();
    REQUIRE(all_of(shot, kind::blocked, "a disk").size() == 1);
    CHECK(all_of(shot, kind::parked).size() >= 1);
    REQUIRE(all_of(shot, kind::woken).size() >= 1);
    CHECK(all_of(shot, kind::woken)[0].second.id == 0); // the worker's number
}

TEST_CASE("what a worker has blocked on is shown when that text has gone") {
    thread_pool pool({.threads = 1});
    const recording on;
    for (const char* which : {"first disk", "second disk"}) {
        std::string text = which;
        pool.submit([&text] { const blocking_region here(text.c_str()); }).get();
        text.assign(text.size(), 'x');
    }
    const trace::snapshot shot = trace::take();
    CHECK(all_of(shot, kind::blocked, "first disk").size() == 1);
    CHECK(all_of(shot, kind::blocked, "second disk").size() == 1);
}

TEST_CASE("a timer that fires is shown, and a coroutine's suspension with what follows") {
    loop_context loop;
    const recording on;
    trace::snapshot shot;
    do { // a sleep that is over before it begins needs no timer
        co_spawn(
            loop.get_executor(),
            []() -> coroutine<> { co_await ekiden::sleep_for(std::chrono::milliseconds(1)); }, detached);
        loop.run();
        loop.restart();
        shot = trace::take();
    } while (all_of(shot, kind::timer).empty());
    const auto suspended = all_of(shot, kind::suspended);
    const auto resumed = all_of(shot, kind::resumed);
    REQUIRE(!resumed.empty());
    CHECK(suspended.size() >= resumed.size());
}

TEST_CASE("tracing goes on and off under a pool that works") {
    thread_pool pool({.threads = 2});
    std::atomic<bool> ends{false};
    std::atomic<int> run{0};
    std::thread poster([&] {
        int posted = 0;
        while (!ends.load()) {
            pool.post([&run] { run.fetch_add(1); });
            ++posted;
        }
        pool.wait_idle();
        CHECK(run.load() == posted);
    });
    for (int i = 0; i != 100; ++i) {
        trace::start();
        trace::stop();
    }
    const trace::snapshot shot = trace::take();
    ends.store(true);
    poster.join();
    for (const auto& [where, e] : all_of(shot, kind::task)) CHECK(e.length >= 0);
}
