#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/spin.hpp>
#include <ekiden/sys/thread.hpp>

#include <tests/unit/affinity.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using ekiden::priority;
using ekiden::thread_pool;

TEST_CASE("a posted task runs in a worker, not in the caller") {
    thread_pool pool({.threads = 1});
    std::atomic<bool> ran{false};
    std::atomic<bool> in_worker{false};
    CHECK(pool.post([&] {
        in_worker = pool.running_in_this_thread();
        ran = true;
    }));
    pool.wait_idle();
    CHECK(ran);
    CHECK(in_worker);
    CHECK_FALSE(pool.running_in_this_thread());
}

TEST_CASE("submit returns the result of a call with its arguments") {
    thread_pool pool({.threads = 2});
    CHECK(pool.submit([] { return 41; }).get() == 41);
    CHECK(pool.submit([](int a, const std::string& b) { return b + std::to_string(a); }, 7, std::string("n"))
              .get()
          == "n7");
    CHECK(*pool.submit([](std::unique_ptr<int> p) { return p; }, std::make_unique<int>(5)).get() == 5);
    int target = 0;
    int& result = pool.submit([&]() -> int& { return target; }).get();
    CHECK(&result == &target);
    pool.submit([&] { target = 3; }).get();
    CHECK(target == 3);
    struct counter {
        int n = 8;
        int get() const { return n; }
    } c;
    CHECK(pool.submit(&counter::get, &c).get() == 8);
}

TEST_CASE("an exception of a submitted task reaches its future and leaves the worker alive") {
    thread_pool pool({.threads = 1});
    auto failing = pool.submit([]() -> int { throw std::runtime_error("no"); });
    CHECK_THROWS_WITH_AS(failing.get(), "no", std::runtime_error);
    CHECK(pool.submit([] { return 1; }).get() == 1);
}

TEST_CASE("an exception of a posted task reaches the handler, with the type of the task") {
    std::mutex mutex;
    std::vector<std::string> seen;
    thread_pool pool(
        {.threads = 2, .on_unhandled_exception = [&](std::exception_ptr error, std::string_view type) {
             try {
                 std::rethrow_exception(error);
             } catch (const std::exception& e) {
                 std::lock_guard lock(mutex);
                 seen.push_back(std::string(type) + ": " + e.what());
             }
         }});
    struct failing_task {
        void operator()() const { throw std::runtime_error("broken"); }
    };
    for (int i = 0; i != 3; ++i) pool.post(failing_task{});
    pool.wait_idle();
    REQUIRE(seen.size() == 3);
    CHECK(seen[0].find("failing_task") != std::string::npos);
    CHECK(seen[0].find("broken") != std::string::npos);
    CHECK(pool.metrics().tasks_run == 3);
}

TEST_CASE("post_bulk calls each index once") {
    thread_pool pool({.threads = 3});
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{1000}, std::size_t{4097}}) {
        std::vector<std::atomic<int>> calls(n);
        CHECK(pool.post_bulk(n, [&](std::size_t i) { ++calls[i]; }));
        pool.wait_idle();
        for (auto& c : calls) REQUIRE(c == 1);
    }
    std::atomic<int> plain{0};
    pool.post_bulk(100, [&] { ++plain; });
    pool.wait_idle();
    CHECK(plain == 100);
}

TEST_CASE("each call of post_bulk is a task of its own: one may wait for another") {
    thread_pool pool({.threads = 2});
    std::latch both(2);
    pool.post_bulk(2, [&](std::size_t) { both.arrive_and_wait(); });
    pool.wait_idle();
    CHECK(both.try_wait());
}

TEST_CASE("an exception in post_bulk ends only its own call") {
    std::atomic<int> reported{0};
    std::atomic<int> calls{0};
    thread_pool pool({.threads = 2, .on_unhandled_exception = [&](auto&&...) { ++reported; }});
    pool.post_bulk(100, [&](std::size_t i) {
        ++calls;
        if (i % 10 == 0) throw i;
    });
    pool.wait_idle();
    CHECK(calls == 100);
    CHECK(reported == 10);
}

TEST_CASE("one worker takes the tasks of one producer in the order posted") {
    thread_pool pool({.threads = 1});
    std::vector<int> order; // written by the one worker
    for (int i = 0; i != 20'000; ++i) pool.post([&order, i] { order.push_back(i); });
    pool.wait_idle();
    REQUIRE(order.size() == 20'000);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("high priority goes before normal, and normal before low, but for single tasks") {
    thread_pool pool({.threads = 1});
    std::vector<int> order;
    pool.pause();
    for (int i = 0; i != 10; ++i) {
        pool.get_executor(priority::low).post([&] { order.push_back(2); });
        pool.post([&] { order.push_back(1); });
        pool.get_executor(priority::high).post([&] { order.push_back(0); });
    }
    pool.resume();
    pool.wait_idle();
    REQUIRE(order.size() == 30);
    // The paused worker may have held a task already, and one in 64 is taken from where others are neglected.
    int early = 0;
    for (auto left = order.begin(); left != order.end(); ++left)
        early += std::any_of(left, order.end(), [left](int right) { return right < *left; }) ? 1 : 0;
    CHECK(early <= 2);
}

TEST_CASE("neither normal nor low priority starves while high-priority work never ends") {
    thread_pool pool({.threads = 1});
    std::atomic<int> others{0};
    std::atomic<bool> enough{false};
    std::function<void()> again = [&] {
        if (!enough) pool.post(priority::high, again);
    };
    pool.post(priority::high, again);
    pool.post(priority::high, again);
    pool.post(priority::low, [&] { ++others; });
    pool.post([&] { ++others; });
    pool.post([&] { pool.post([&] { ++others; }); }); // into the worker's own deque, once it gets its turn
    while (others != 3) std::this_thread::yield();
    enough = true;
    pool.wait_idle();
    CHECK(others == 3);
}

TEST_CASE("a worker that spawns for ever still takes work from outside, and its own oldest") {
    thread_pool pool({.threads = 1});
    std::atomic<bool> enough{false};
    std::atomic<bool> oldest{false};
    std::function<void()> again = [&] {
        if (!enough) pool.post(again);
    };
    pool.post([&] {
        pool.post([&] { oldest = true; });
        pool.post(again);
    });
    CHECK(pool.submit([] { return 1; }).get() == 1);
    while (!oldest) std::this_thread::yield();
    enough = true;
    pool.wait_idle();
}

TEST_CASE("A burst on a sleeping pool wakes a worker for each task, although each task keeps its worker") {
    constexpr unsigned workers = 8;
    thread_pool pool({.threads = workers});
    for (int round = 0; round != 20; ++round) {
        while (pool.activity() != std::string(workers, '.')) std::this_thread::yield();
        std::latch all_run(workers);
        for (unsigned i = 0; i != workers; ++i) pool.post([&all_run] { all_run.arrive_and_wait(); });
        pool.wait_idle();
    }
    CHECK(pool.metrics().wakes >= workers); // by posts and by other workers
}

TEST_CASE("wait_idle covers what tasks post") {
    thread_pool pool({.threads = 2});
    for (int round = 0; round != 200; ++round) {
        std::atomic<int> ran{0};
        std::function<void(int)> spawn = [&](int depth) {
            ++ran;
            if (depth == 0) return;
            pool.post([&spawn, depth] { spawn(depth - 1); });
            pool.post(depth % 2 == 0 ? priority::high : priority::low, [&spawn, depth] { spawn(depth - 1); });
        };
        pool.post([&] { spawn(5); });
        pool.wait_idle();
        REQUIRE(ran == 63);
    }
}

TEST_CASE("several threads may wait for idle at once") {
    thread_pool pool({.threads = 2});
    std::atomic<int> ran{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t != 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i != 200; ++i) {
                const int before = ran;
                pool.post([&] { ++ran; });
                pool.wait_idle();
                REQUIRE(ran > before);
            }
        });
    }
    threads.clear();
    CHECK(ran == 800);
}

TEST_CASE("a stop request cancels a queued task, and a running one can see it") {
    thread_pool pool({.threads = 1});
    std::stop_source source;
    std::latch started(1);
    auto running = pool.submit(source.get_token(), [&](std::stop_token token) {
        started.count_down();
        while (!token.stop_requested()) std::this_thread::yield();
        return 7;
    });
    auto queued = pool.submit(source.get_token(), [] { return 8; });
    started.wait();
    source.request_stop();
    CHECK(running.get() == 7);
    CHECK_THROWS_AS(queued.get(), std::system_error);
    auto late = pool.submit(source.get_token(), [] { return 9; });
    CHECK(late.is_ready());
    CHECK_THROWS_AS(late.get(), std::system_error);
}

TEST_CASE("cancel destroys a queued task's captures at once and lets a running one be") {
    thread_pool pool({.threads = 1});
    std::latch started(1);
    std::latch go(1);
    auto running = pool.submit([&] {
        started.count_down();
        go.wait();
    });
    auto held = std::make_shared<int>(1);
    auto queued = pool.submit([held] { return *held; });
    started.wait();
    CHECK_FALSE(running.cancel());
    CHECK(held.use_count() == 2);
    CHECK(queued.cancel());
    CHECK(held.use_count() == 1);
    CHECK_FALSE(queued.cancel());
    CHECK(queued.is_ready());
    CHECK_THROWS_AS(queued.get(), std::system_error);
    go.count_down();
    running.get();
}

TEST_CASE("captures are destroyed in the worker before the future is ready") {
    thread_pool pool({.threads = 1});
    struct witness {
        std::atomic<bool>* gone;
        std::atomic<std::thread::id>* where;
        explicit witness(std::atomic<bool>* g, std::atomic<std::thread::id>* w) : gone(g), where(w) {}
        witness(witness&& other) noexcept : gone(std::exchange(other.gone, nullptr)), where(other.where) {}
        ~witness() {
            if (gone == nullptr) return;
            std::this_thread::sleep_for(1ms);
            where->store(std::this_thread::get_id());
            gone->store(true);
        }
    };
    for (int i = 0; i != 20; ++i) {
        std::atomic<bool> gone{false};
        std::atomic<std::thread::id> where{};
        pool.submit([w = witness(&gone, &where)] {}).get();
        CHECK(gone);
        CHECK(where.load() != std::this_thread::get_id());
    }
}

TEST_CASE("executors are equal when pool and priority are") {
    thread_pool pool({.threads = 1});
    thread_pool other({.threads = 1});
    CHECK(pool.get_executor() == pool.get_executor());
    CHECK(pool.get_executor() != pool.get_executor(priority::high));
    CHECK(pool.get_executor() != other.get_executor());
    CHECK(&pool.get_executor().context() == &pool);
    CHECK(pool.get_executor(priority::low).submit([] { return 2; }).get() == 2);
}

TEST_CASE("a pool uses the processors that the process may use, unless told otherwise") {
    EKIDEN_SKIP_ON_MACOS("a program cannot choose processors");
    thread_pool automatic;
    CHECK(automatic.thread_count() >= 1);
    CHECK(automatic.thread_count() <= static_cast<unsigned>(ekiden_test::processors_of_this_thread()));
    {
        const ekiden_test::one_processor here;
        REQUIRE(ekiden_test::processors_of_this_thread() == 1);
        thread_pool narrow;
        CHECK(narrow.thread_count() == 1);
    }
    thread_pool three({.threads = 3});
    CHECK(three.thread_count() == 3);
}

TEST_CASE("a pool that is made by a worker bound to one processor has a thread for each of the process") {
    thread_pool narrow({.threads = 1, .placement = ekiden::placement::compact});
    const unsigned made_inside = narrow
                                     .submit([] {
                                         const thread_pool wide;
                                         return wide.thread_count();
                                     })
                                     .get();
    CHECK(made_inside == thread_pool().thread_count());
}

TEST_CASE("workers carry the pool's name") {
    thread_pool pool({.threads = 2, .name = "relay"});
    std::mutex mutex;
    std::set<std::string> names;
    std::latch both(2);
    pool.post_bulk(2, [&](std::size_t) {
        {
            std::lock_guard lock(mutex);
            names.insert(ekiden::sys::this_thread_name());
        }
        both.arrive_and_wait();
    });
    pool.wait_idle();
    CHECK(names == std::set<std::string>{"relay-0", "relay-1"});
}

TEST_CASE("compact placement keeps each worker on one processor, and numa on one node") {
    EKIDEN_SKIP_ON_MACOS("a program cannot choose processors");
    for (const auto where : {ekiden::placement::compact, ekiden::placement::numa}) {
        thread_pool pool({.threads = 2, .placement = where});
        const int allowed = pool.submit(&ekiden_test::processors_of_this_thread).get();
        if (where == ekiden::placement::compact)
            CHECK(allowed == 1);
        else
            CHECK(allowed >= 1);
    }
}

TEST_CASE("metrics count what happened") {
    thread_pool pool({.threads = 2});
    for (int i = 0; i != 1000; ++i) pool.post([] {});
    pool.wait_idle();
    pool.submit([&] {
            for (int i = 0; i != 100; ++i) pool.post([] {});
        })
        .get();
    pool.wait_idle();
    const auto now = pool.metrics();
    CHECK(now.threads == 2);
    CHECK(now.tasks_run == 1101);
    CHECK(now.tasks_abandoned == 0);
    CHECK(now.tasks_pending == 0);
    CHECK(now.injected == 1001);
    CHECK(now.queue_delay.total() >= 1000 / 64);
    CHECK(now.queue_delay.quantile(1.0) > 0);
    // Idle workers go to sleep.
    for (int i = 0; i != 60'000 && pool.metrics().parks < 2; ++i) std::this_thread::sleep_for(1ms);
    CHECK(pool.metrics().parks >= 2);
    const auto wakes = pool.metrics().wakes;
    pool.submit([] {}).get();
    CHECK(pool.metrics().wakes >= wakes);
}

TEST_CASE("With a spin time idle workers stay awake, and leave at once when they are to") {
    thread_pool usual({.threads = 2});
    thread_pool awake({.threads = 2, .spin_time = ekiden::thread_pool_options::longest_spin});
    for (int i = 0; i < 20; ++i) {
        std::this_thread::sleep_for(1ms); // longer than the usual pool looks
        CHECK(usual.submit([i] { return i; }).get() == i);
        CHECK(awake.submit([i] { return i; }).get() == i);
    }
    if (ekiden::sys::spinning_pays()) CHECK(awake.metrics().parks == 0);
    CHECK(usual.metrics().parks > 0);
    // A thread that waits for an idle pool does not wait for the end of a look.
    awake.post([] { std::this_thread::sleep_for(1ms); });
    awake.wait_idle();
    if (ekiden::sys::spinning_pays()) CHECK(awake.metrics().parks == 0);
    awake.pause();
    auto held = awake.submit([] { return 1; });
    CHECK(!held.wait_for(10ms));
    awake.resume();
    CHECK(held.get() == 1);
}
