// Where two protocols of the pool meet: a thread's end, waits, pause, nesting, blocking, the pool's end.
#include "../child_process.hpp"
#include "../effort.hpp"
#include <ekiden/future/promise.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <tests/unit/posix.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <doctest/doctest.h>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using namespace ekiden;
using namespace std::chrono_literals;

void wait_for(const std::atomic<bool>& flag) {
    while (!flag.load()) std::this_thread::yield();
}

} // namespace

// ---- a thread's end

namespace {

/// Posts to a pool when its thread ends.
struct late_poster {
    static inline thread_pool* target;
    static inline std::atomic<int> ran;
    static inline std::atomic<int> accepted;
    static inline std::atomic<int> ends;
    static inline std::atomic<int> workers;
    static constexpr int posts = 2000;

    bool is_used = false;
    ~late_poster() {
        if (!is_used) return;
        if (target->running_in_this_thread()) workers.fetch_add(1);
        for (int i = 0; i != posts; ++i) {
            if (target->post([] { ran.fetch_add(1); })) accepted.fetch_add(1);
        }
        ends.fetch_add(1);
    }
};
thread_local late_poster poster; // not in a function: there only the thread that passes by would end it

} // namespace

TEST_CASE("What a retired worker's thread posts in destructors of thread_local objects is run, once") {
    EKIDEN_SKIP_WITH_GCC_ON_WINDOWS("frees thread_local objects before it destroys them");
    const int rounds = ekiden_test::rounds(30);
    late_poster::workers = 0;
    for (int round = 0; round != rounds; ++round) {
        late_poster::ran = late_poster::accepted = late_poster::ends = 0;
        thread_pool pool({.threads = 1, .max_threads = 4, .keep_alive = 0ms, .watch_interval = 0ms});
        late_poster::target = &pool;
        std::latch all_there(4);
        for (int i = 0; i != 4; ++i) {
            pool.post([&] {
                const blocking_region region;
                poster.is_used = true;
                all_there.arrive_and_wait();
            });
        }
        pool.wait_idle();
        while (late_poster::ends.load() < 3) { // all but one; others take over their places meanwhile
            pool.submit([] { const blocking_region region; }).get();
        }
        pool.join();
        CHECK(late_poster::accepted.load() >= 3 * late_poster::posts);
        CHECK(late_poster::ran.load() == late_poster::accepted.load());
    }
    CHECK(late_poster::workers.load() == 0); // a thread that was a worker is none when its objects end
}

// ---- pause

TEST_CASE("A task that waits for a result gets it while the pool is paused") {
    for (int round = 0; round != ekiden_test::rounds(300); ++round) {
        thread_pool pool({.threads = 1});
        promise<int> source;
        auto awaited = source.get_future();
        std::atomic<bool> has_begun{false};
        auto running = pool.submit([&] {
            has_begun = true;
            return awaited.get();
        });
        wait_for(has_begun);
        std::atomic<int> ran{0};
        for (int i = 0; i != 3; ++i) pool.post([&] { ran.fetch_add(1); });
        pool.pause();
        source.set_value(round);
        CHECK(running.get() == round);
        pool.resume();
        pool.wait_idle();
        CHECK(ran.load() == 3);
    }
}

TEST_CASE("What is posted while the pool is paused does not begin in a worker that waits") {
    thread_pool pool({.threads = 1});
    promise<int> source;
    auto awaited = source.get_future();
    std::atomic<bool> has_begun{false};
    auto running = pool.submit([&] {
        has_begun = true;
        return awaited.get();
    });
    wait_for(has_begun);
    pool.pause();
    std::atomic<bool> ran{false};
    pool.post([&] { ran = true; });
    std::this_thread::sleep_for(5ms); // time to do wrong
    CHECK_FALSE(ran.load());
    source.set_value(3);
    CHECK(running.get() == 3);
    CHECK_FALSE(ran.load());
    pool.resume();
    pool.wait_idle();
    CHECK(ran.load());
}

TEST_CASE("A pool that is stopped while it is paused abandons what a waiting worker has put back") {
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        thread_pool pool({.threads = 1});
        promise<void> source;
        auto awaited = source.get_future();
        std::atomic<bool> has_begun{false};
        auto running = pool.submit([&] {
            has_begun = true;
            awaited.get();
        });
        wait_for(has_begun);
        std::atomic<bool> ran{false};
        auto queued = pool.submit([&] { ran = true; });
        pool.pause();
        pool.stop();
        source.set_value();
        running.get();
        bool was_dropped = false;
        try {
            queued.get();
        } catch (const std::system_error&) {
            was_dropped = true;
        }
        CHECK(was_dropped != ran.load()); // it may have run before the pause: one of the two
    }
}

// ---- waits with a limit

TEST_CASE("A wait with a limit in a worker runs no other task") {
    thread_pool pool({.threads = 1});
    promise<void> never;
    auto awaited = never.get_future();
    std::atomic<bool> ran{false};
    auto outer = pool.submit([&] {
        pool.post([&] { ran = true; });
        const bool is_ready = awaited.wait_for(5ms);
        return !is_ready && !ran.load();
    });
    CHECK(outer.get());
    pool.wait_idle();
    CHECK(ran.load());
}

TEST_CASE("While a worker of an elastic pool waits for a limited time, another one does its work") {
    thread_pool pool({.threads = 1, .max_threads = 2, .watch_interval = 0ms});
    promise<int> source;
    auto awaited = source.get_future();
    auto outer = pool.submit([&] {
        pool.post([&] { source.set_value(5); });
        return awaited.wait_for(1h);
    });
    CHECK(outer.get());
}

// ---- other things that block

TEST_CASE("A worker of an elastic pool that waits for another pool to become idle counts as blocked") {
    thread_pool other({.threads = 1});
    std::latch release(1);
    other.post([&] { release.wait(); });
    thread_pool pool({.threads = 1, .max_threads = 2, .watch_interval = 0ms});
    pool.post([&] { other.wait_idle(); });
    pool.post([&] { release.count_down(); }); // behind the one that blocks
    pool.wait_idle();
    CHECK(pool.metrics().peak_threads == 2);
}

// ---- nesting

TEST_CASE("Waits nest to any depth, wherever the awaited task is queued") {
    constexpr int depth = 1000;
    thread_pool pool({.threads = 1});
    for (const priority level : {priority::high, priority::normal, priority::low}) {
        std::function<int(int)> descend = [&](int rest) -> int {
            if (rest == 0) return 0;
            return pool.submit(level, [&descend, rest] { return descend(rest - 1); }).get() + 1;
        };
        CHECK(pool.submit([&] { return descend(depth); }).get() == depth);
    }
}

TEST_CASE("Deep down a worker still runs what comes from outside") {
    constexpr int depth = 200;
    thread_pool pool({.threads = 1});
    promise<int> source;
    auto awaited = source.get_future();
    std::atomic<bool> is_deep{false};
    std::function<int(int)> descend = [&](int rest) -> int {
        if (rest == 0) {
            is_deep = true;
            return awaited.get();
        }
        return pool.submit([&descend, rest] { return descend(rest - 1); }).get();
    };
    auto result = pool.submit([&] { return descend(depth); });
    wait_for(is_deep);
    pool.post([&] { source.set_value(9); });
    CHECK(result.get() == 9);
}

// ---- order

TEST_CASE("A task that posts the rest of itself last lets those through that wait") {
    thread_pool pool({.threads = 1});
    std::string order;
    std::latch all_there(1);
    pool.post([&] { all_there.wait(); });
    std::function<void(char, int)> turn = [&](char who, int rest) {
        order += who;
        if (rest != 1) pool.post_last([&turn, who, rest] { turn(who, rest - 1); });
    };
    for (const char who : {'a', 'b', 'c'}) pool.post([&turn, who] { turn(who, 4); });
    all_there.count_down();
    pool.wait_idle();
    CHECK(order == "abcabcabcabc");
}

TEST_CASE("What is posted last goes behind the worker's own tasks") {
    thread_pool pool({.threads = 1});
    std::string order;
    pool.submit([&] {
            pool.post_last([&] { order += 'l'; });
            pool.post([&] { order += '1'; });
            pool.post([&] { order += '2'; });
        })
        .get();
    pool.wait_idle();
    CHECK(order == "21l");
}

// ---- outstanding work and services

TEST_CASE("join waits for outstanding work, and takes what it posts") {
    thread_pool pool({.threads = 1});
    const auto executor = pool.get_executor();
    executor.on_work_started();
    std::atomic<bool> ran{false};
    std::atomic<bool> was_accepted{false};
    std::thread elsewhere([&] {
        std::this_thread::sleep_for(2ms);
        was_accepted = executor.post([&] { ran = true; });
        executor.on_work_finished();
    });
    pool.wait_idle(); // for tasks only
    pool.join();
    CHECK(was_accepted.load());
    CHECK(ran.load());
    elsewhere.join();
    CHECK_FALSE(pool.post([] {}));
}

TEST_CASE("Work that a task begins while the pool is joined is waited for") {
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        std::atomic<int> ran{0};
        std::thread elsewhere;
        {
            thread_pool pool({.threads = 1});
            const auto executor = pool.get_executor();
            pool.post([&, executor] {
                executor.on_work_started();
                elsewhere = std::thread([&, executor] {
                    if (executor.post([&] { ran.fetch_add(1); })) ran.fetch_add(1);
                    executor.on_work_finished();
                });
            });
        }
        CHECK(ran.load() == 2);
        elsewhere.join();
    }
}

TEST_CASE("join waits for work that some threads begin and others end") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        constexpr int pairs = 3;
        constexpr int pieces = 20;
        std::atomic<int> ran{0};
        std::atomic<int> accepted{0};
        thread_pool pool({.threads = 2});
        const auto executor = pool.get_executor();
        std::vector<std::thread> threads;
        std::vector<std::unique_ptr<std::atomic<int>>> begun;
        for (int p = 0; p != pairs; ++p) {
            begun.push_back(std::make_unique<std::atomic<int>>(0));
            executor.on_work_started(); // ends with the thread that begins the others
            threads.emplace_back([executor, &count = *begun.back()] {
                for (int i = 0; i != pieces; ++i) {
                    executor.on_work_started();
                    count.fetch_add(1);
                }
                executor.on_work_finished();
            });
            threads.emplace_back([executor, &ran, &accepted, &count = *begun.back()] {
                for (int i = 0; i != pieces; ++i) {
                    while (count.load() <= i) std::this_thread::yield();
                    if (executor.post([&ran] { ran.fetch_add(1); })) accepted.fetch_add(1);
                    executor.on_work_finished();
                }
            });
        }
        pool.join();
        CHECK(ran.load() == pairs * pieces);
        for (auto& thread : threads) thread.join();
        CHECK(accepted.load() == pairs * pieces);
    }
}

TEST_CASE("A post while a join begins is refused, or its task runs") {
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        std::atomic<int> ran{0};
        int accepted = 0;
        std::atomic<bool> has_posted{false};
        thread_pool pool({.threads = 1});
        std::thread outsider([&] {
            while (pool.post([&ran] { ran.fetch_add(1); })) {
                ++accepted;
                has_posted = true;
            }
            has_posted = true;
        });
        wait_for(has_posted);
        pool.join();
        outsider.join();
        CHECK(ran.load() == accepted);
    }
}

TEST_CASE("stop ends a join that waits for outstanding work, or is about to") {
    for (int round = 0; round != ekiden_test::rounds(500); ++round) {
        thread_pool pool({.threads = 1});
        const auto executor = pool.get_executor();
        executor.on_work_started();
        std::thread stopper([&] {
            if (round % 10 == 0) std::this_thread::sleep_for(1ms);
            pool.stop();
        });
        pool.join();
        stopper.join();
        executor.on_work_finished();
    }
}

namespace {

std::string* life = nullptr;

template <char Name>
class noted_service final : public execution_context::service {
public:
    explicit noted_service(execution_context& owner) : service(owner) { *life += Name; }
    ~noted_service() override { *life += Name; }

private:
    void shutdown() noexcept override {
        *life += '!';
        *life += Name;
        // The threads are still there, and no task is left.
        static_cast<thread_pool&>(context()).wait_idle();
    }
};

} // namespace

TEST_CASE("Services are shut down before the threads end, and end after them, the newest first") {
    std::string steps;
    life = &steps;
    {
        thread_pool pool({.threads = 1});
        CHECK_FALSE(has_service<noted_service<'a'>>(pool));
        auto& first = use_service<noted_service<'a'>>(pool);
        CHECK(&use_service<noted_service<'a'>>(pool) == &first);
        pool.post([&] { (void)use_service<noted_service<'b'>>(pool); });
        pool.join();
        CHECK(steps == "ab!b!a");
        CHECK(has_service<noted_service<'b'>>(pool));
    }
    CHECK(steps == "ab!b!aba");
}

TEST_CASE("Threads that ask for the same service at once get the same one") {
    static std::atomic<int> made;
    made = 0;
    struct counted final : execution_context::service {
        explicit counted(execution_context& owner) : service(owner) { made.fetch_add(1); }
        ~counted() override { made.fetch_sub(1); }
    };
    thread_pool pool({.threads = 1});
    std::vector<std::thread> threads;
    std::atomic<counted*> seen{nullptr};
    std::atomic<bool> differs{false};
    for (int i = 0; i != 4; ++i) {
        threads.emplace_back([&] {
            auto* const mine = &use_service<counted>(pool);
            counted* expected = nullptr;
            if (!seen.compare_exchange_strong(expected, mine) && expected != mine) differs = true;
        });
    }
    for (std::thread& t : threads) t.join();
    CHECK_FALSE(differs.load());
    CHECK(made.load() == 1);
}

TEST_CASE("In the child of a fork the services of a pool are left alone") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    std::string steps;
    life = &steps;
    {
        thread_pool pool({.threads = 1});
        (void)use_service<noted_service<'a'>>(pool);
        const pid_t child = ::fork();
        if (child == 0) {
            pool.~thread_pool();
            std::_Exit(steps == "a" ? 0 : 1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        CHECK(status == 0);
    }
    CHECK(steps == "a!aa");
}

// ---- the pool's end

TEST_CASE("A pool may end as soon as the effect of its last task is seen, though post has not returned") {
    for (int round = 0; round != ekiden_test::rounds(3000); ++round) {
        auto pool = std::make_unique<thread_pool>(thread_pool_options{.threads = 1});
        std::atomic<bool> ran{false};
        std::thread posting([&, p = pool.get()] { p->post([&] { ran = true; }); });
        wait_for(ran);
        pool.reset();
        posting.join();
    }
}

// ---- arguments

TEST_CASE("A priority that does not exist is refused, and the callable destroyed") {
    thread_pool pool(1);
    auto token = std::make_shared<int>(0);
    CHECK_THROWS_WITH_AS(pool.post(static_cast<priority>(77), [token] {}),
                         "post: priority is 77, allowed is high (0), normal (1) or low (2)",
                         std::invalid_argument);
    CHECK(token.use_count() == 1);
    CHECK(pool.submit([] { return 1; }).get() == 1);
}

TEST_CASE("A pool takes a number of threads") {
    thread_pool two(2);
    CHECK(two.thread_count() == 2);
    thread_pool as_usual(0U);
    CHECK(as_usual.thread_count() >= 1);
    CHECK_THROWS_AS(thread_pool(-1), std::invalid_argument);
    CHECK_THROWS_AS(thread_pool(std::uint64_t{1} << 40), std::invalid_argument);
}

TEST_CASE("A worker has an index of its own, other threads have none") {
    thread_pool pool(2);
    CHECK_FALSE(pool.this_worker_index().has_value());
    thread_pool other(1);
    std::latch both_there(2);
    const auto index = [&] {
        both_there.arrive_and_wait();
        CHECK_FALSE(other.this_worker_index().has_value());
        return *pool.this_worker_index();
    };
    auto one = pool.submit(index);
    auto two = pool.submit(index);
    CHECK(one.get() + two.get() == 1); // 0 and 1
    CHECK(pool.max_thread_count() == 2);
}

TEST_CASE("submit takes a priority, and the executor what the pool takes") {
    thread_pool pool(1);
    CHECK(pool.submit(priority::low, [](int a, int b) { return a * b; }, 6, 7).get() == 42);
    const auto executor = pool.get_executor(priority::high);
    CHECK(executor.submit([](int a) { return a; }, 5).get() == 5);
    std::stop_source source;
    CHECK(executor.submit(source.get_token(), [](std::stop_token t) { return t.stop_requested(); }).get()
          == false);
    std::atomic<int> sum{0};
    CHECK(executor.post_bulk(10, [&](std::size_t i) { sum.fetch_add(static_cast<int>(i)); }));
    pool.wait_idle();
    CHECK(sum.load() == 45);
}
