// on_slow_task: each task that runs for too long is told once, and no other task.
#include "../child_process.hpp"
#include "../effort.hpp"
#include <ekiden/future/promise.hpp>
#include <ekiden/pool/add_metrics.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <tests/unit/posix.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <doctest/doctest.h>
#include <latch>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace slow_tasks {
namespace {

using namespace ekiden;
using namespace std::chrono_literals;

/// Collects reports, for threads that wait for them.
class reports {
public:
    void add(const slow_task_report& one) {
        const std::lock_guard guard(lock_);
        all_.push_back(one);
    }
    [[nodiscard]] std::vector<slow_task_report> all() const {
        const std::lock_guard guard(lock_);
        return all_;
    }
    /// Returns how many reports name a task whose type contains `part`.
    [[nodiscard]] std::ptrdiff_t of(const char* part) const {
        const auto now = all();
        return std::count_if(now.begin(), now.end(), [part](const slow_task_report& one) {
            return one.task.find(part) != std::string::npos;
        });
    }
    /// Waits for `count` such reports, for at most a minute. Returns whether they have come.
    [[nodiscard]] bool come(const char* part, std::ptrdiff_t count) const {
        const auto end = std::chrono::steady_clock::now() + 1min;
        while (of(part) < count) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(1ms);
        }
        return true;
    }
    thread_pool_options with(thread_pool_options options) {
        options.on_slow_task = [this](const slow_task_report& one) { add(one); };
        return options;
    }

private:
    mutable std::mutex lock_;
    std::vector<slow_task_report> all_;
};

/// Computes until it is released.
struct spinning_task {
    std::atomic<bool>* released;
    void operator()() const {
        while (!released->load()) {
        }
    }
};

/// Stores the index of the worker that runs the task, and computes until `rest` is released.
template <int>
struct task_of_worker {
    thread_pool* pool;
    unsigned* worker;
    std::latch* all_there;
    spinning_task rest;
    void operator()() const {
        *worker = pool->this_worker_index().value();
        all_there->count_down();
        rest();
    }
};

/// Runs for `duration`, which is short.
struct short_task {
    std::chrono::microseconds duration;
    void operator()() const {
        const auto end = std::chrono::steady_clock::now() + duration;
        while (std::chrono::steady_clock::now() < end) {
        }
    }
};

struct waiting_task {
    future<void>* awaited;
    std::atomic<bool>* released;
    void operator()() const {
        awaited->get();
        while (!released->load()) std::this_thread::sleep_for(1ms);
    }
};

} // namespace

TEST_CASE("A task that computes for too long is told once, with its type, its worker and its time") {
    reports told;
    std::atomic<bool> released{false};
    const auto before = std::chrono::steady_clock::now();
    thread_pool pool(told.with({.threads = 2, .watch_interval = 2ms, .slow_task_time = 20ms}));
    pool.post(spinning_task{&released});
    REQUIRE(told.come("spinning_task", 1));
    const slow_task_report report = told.all().front();
    CHECK(report.index < 2);
    CHECK(report.ran_for >= 20ms);
    CHECK(report.since >= before);
    CHECK(report.since + report.ran_for <= std::chrono::steady_clock::now());
    CHECK(report.waits_for.empty());
    CHECK(report.call_stack.empty());
    CHECK(report.text().find("has run a task of type ") != std::string::npos);
    const auto later = std::chrono::steady_clock::now() + 100ms;
    while (std::chrono::steady_clock::now() < later) std::this_thread::sleep_for(1ms);
    CHECK(told.all().size() == 1); // not told again
    released = true;
    pool.wait_idle();
    CHECK(pool.metrics().slow_tasks == 1);
    prometheus_page page;
    add_metrics(page, pool.metrics(), "p");
    CHECK(page.text().find("ekiden_pool_slow_tasks_total{pool=\"p\"} 1") != std::string::npos);
}

TEST_CASE("Slow tasks that run at the same time are told with the workers that run them") {
    reports told;
    std::atomic<bool> released{false};
    std::latch all_there(3);
    std::array<unsigned, 2> ran_on{};
    thread_pool pool(told.with({.threads = 2, .watch_interval = 1ms, .slow_task_time = 20ms}));
    pool.post(task_of_worker<0>{&pool, &ran_on[0], &all_there, {&released}});
    pool.post(task_of_worker<1>{&pool, &ran_on[1], &all_there, {&released}});
    all_there.arrive_and_wait();
    CHECK(told.come("task_of_worker", 2));
    for (const slow_task_report& one : told.all())
        CHECK(one.index == ran_on[one.task.find("<0>") != std::string::npos ? 0 : 1]);
    released = true;
}

TEST_CASE("Each slow task is told, and the tasks between them are not") {
    reports told;
    thread_pool pool(told.with({.threads = 1, .watch_interval = 1ms, .slow_task_time = 500ms}));
    for (int round = 0; round != 3; ++round) {
        for (int i = 0; i != 1000; ++i) pool.post(short_task{10us});
        std::atomic<bool> released{false};
        pool.post(spinning_task{&released});
        CHECK(told.come("spinning_task", round + 1));
        released = true;
        pool.wait_idle();
    }
    CHECK(told.of("spinning_task") == 3);
    if (!ekiden_test::is_sanitized) CHECK(told.of("short_task") == 0);
}

TEST_CASE("A task that waits for a result is told once, although it runs other tasks meanwhile") {
    reports told;
    thread_pool pool(told.with({.threads = 1, .watch_interval = 1ms, .slow_task_time = 20ms}));
    promise<void> source;
    future<void> awaited = source.get_future();
    std::atomic<bool> released{false};
    pool.post(waiting_task{&awaited, &released});
    REQUIRE(told.come("waiting_task", 1)); // all threads of the pool sleep, and still the watch finds it
    CHECK(told.all().front().waits_for == "a promise");
    for (int i = 0; i != 50; ++i) pool.submit(short_task{10us}).get(); // in the wait of the first task
    std::atomic<bool> inner{false};
    pool.post(spinning_task{&inner}); // on the stack of the first task
    CHECK(told.come("spinning_task", 1));
    inner = true;
    source.set_value();
    const auto later = std::chrono::steady_clock::now() + 100ms; // the first task runs on
    while (std::chrono::steady_clock::now() < later) std::this_thread::sleep_for(1ms);
    released = true;
    pool.wait_idle();
    CHECK(told.of("waiting_task") == 1);
    CHECK(told.of("spinning_task") == 1);
}

TEST_CASE("A slow task in a blocking region is told with the text of the region") {
    reports told;
    std::latch release(1);
    thread_pool pool(
        told.with({.threads = 1, .max_threads = 2, .watch_interval = 1ms, .slow_task_time = 20ms}));
    pool.post([&] {
        const blocking_region region("a slow disk");
        release.wait();
    });
    CHECK(told.come("lambda", 1));
    CHECK(told.all().front().waits_for == "a slow disk");
    release.count_down();
    pool.wait_idle();
    CHECK(told.all().size() == 1);
}

TEST_CASE("A worker that sleeps, searches or stands by runs no slow task") {
    reports told;
    thread_pool pool(told.with({.threads = 2,
                                .max_threads = 4,
                                .watch_interval = 1ms,
                                .spin_time = 300ms,
                                .slow_task_time = 100ms}));
    std::latch all_there(4);
    for (int i = 0; i != 4; ++i) pool.post([&] { block([&] { all_there.arrive_and_wait(); }); });
    pool.wait_idle();
    const auto before = told.all().size(); // on a busy machine, one of the tasks may have been slow
    const auto later = std::chrono::steady_clock::now() + 400ms;
    while (std::chrono::steady_clock::now() < later) std::this_thread::sleep_for(1ms);
    CHECK(told.all().size() == before);
}

TEST_CASE("Without a handler, the report goes to standard error") {
    const auto child = ekiden_test::run_in_child([] {
        thread_pool pool({.threads = 1, .name = "slow", .watch_interval = 1ms, .slow_task_time = 10ms});
        pool.post([&] {
            while (pool.metrics().slow_tasks == 0) {
            }
        });
        pool.wait_idle();
    });
    CHECK(child.exit_code == 0);
    CHECK(child.error_output.find("ekiden: pool slow: thread 0 has run a task of type ") == 0);
}

TEST_CASE("A pool refuses options that it cannot serve") {
    CHECK_THROWS_AS(thread_pool({.slow_task_time = -1ms}), std::invalid_argument);
    CHECK_THROWS_AS(thread_pool({.queue_delay_limit = -1ms}), std::invalid_argument);
    CHECK_THROWS_AS(thread_pool({.stack_signal = SIGKILL}), std::invalid_argument);
    CHECK_THROWS_AS(thread_pool({.stack_signal = 1000}), std::invalid_argument);
    // A handler of the program stays.
    const auto former = std::signal(SIGUSR2, [](int) {});
    CHECK_THROWS_AS(thread_pool({.stack_signal = SIGUSR2}), std::invalid_argument);
    std::signal(SIGUSR2, former);
}

#if !defined(EKIDEN_TSAN)                                                                                    \
    && !defined(EKIDEN_TEST_EMULATOR) // TSan delays signals until the thread calls the system
namespace {

[[gnu::noinline]] bool spins_here(const std::atomic<bool>& released) {
    while (!released.load()) {
    }
    return released.load();
}

} // namespace

TEST_CASE("With a signal, the report has the call stack of the task") {
    EKIDEN_SKIP_ON_WINDOWS("there are no signals");
    reports told;
    std::atomic<bool> released{false};
    thread_pool pool(
        told.with({.threads = 2, .watch_interval = 1ms, .slow_task_time = 20ms, .stack_signal = SIGURG}));
    pool.post([&released] { (void)spins_here(released); });
    REQUIRE(told.come("lambda", 1));
    const std::string stack = told.all().front().call_stack;
    // The program does not export its symbols, so the lines have the file and an offset.
    CHECK(std::count(stack.begin(), stack.end(), '\n') >= 4);
    CHECK(stack.find("_test") != std::string::npos);
    CHECK(stack.find("  ") == 0);
    released = true;
    pool.wait_idle();
    (void)::raise(SIGURG); // a signal without a request does nothing
}

TEST_CASE("A thread that blocks the signal gives no call stack, and the task is told") {
    EKIDEN_SKIP_ON_WINDOWS("there are no signals");
    reports told;
    std::atomic<bool> released{false};
    auto options =
        told.with({.threads = 1, .watch_interval = 1ms, .slow_task_time = 20ms, .stack_signal = SIGURG});
    options.on_thread_start = [](unsigned) {
        sigset_t all;
        sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    };
    thread_pool pool(options);
    pool.post(spinning_task{&released});
    REQUIRE(told.come("spinning_task", 1));
    CHECK(told.all().front().call_stack.empty());
    released = true;
}
#endif

TEST_CASE("A long delay in the queue is told, and a short one is not") {
    std::atomic<int> delays{0};
    std::atomic<std::int64_t> longest{0};
    thread_pool pool({.threads = 1,
                      .watch_interval = 1ms,
                      .queue_delay_limit = 50ms,
                      .on_queue_delay = [&](std::chrono::nanoseconds delay) {
                          longest = delay.count();
                          ++delays;
                      }});
    std::atomic<bool> released{false};
    pool.post(spinning_task{&released});
    for (int i = 0; i != 200; ++i) pool.post([] {}); // a few of them record their delays
    const auto later = std::chrono::steady_clock::now() + 100ms;
    while (std::chrono::steady_clock::now() < later) std::this_thread::sleep_for(1ms);
    CHECK(delays == 0);
    released = true;
    const auto end = std::chrono::steady_clock::now() + 1min;
    while (delays == 0 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
    CHECK(delays > 0);
    CHECK(longest >= 50'000'000);
    CHECK(longest < 60'000'000'000);
}

TEST_CASE("A pool that on_slow_task destroys stops the program, and the option is named") {
    const auto child = ekiden_test::run_in_child([] {
        static std::shared_ptr<thread_pool> pool;
        pool = std::make_shared<thread_pool>(
            thread_pool_options{.threads = 1,
                                .watch_interval = 1ms,
                                .slow_task_time = 5ms,
                                .on_slow_task = [](const slow_task_report&) { pool.reset(); }});
        pool->post([] { ::pause(); });
        for (;;) ::pause();
    });
    CHECK(child.signal == SIGABRT);
    CHECK(child.error_output.find("in its function on_slow_task; ") != std::string::npos);
}

TEST_CASE("A history keeps the newest reports, and a page shows them with every text escaped") {
    slow_task_history history(2);
    CHECK(history.newest().empty());
    for (unsigned i = 0; i != 3; ++i) {
        slow_task_report one;
        one.index = i;
        one.task = "task \"" + std::to_string(i) + "\"";
        one.ran_for = 1500ms;
        one.waits_for = "a\\b";
        history.add(one);
    }
    const auto newest = history.newest();
    REQUIRE(newest.size() == 2);
    CHECK(newest[0].index == 2);
    CHECK(newest[1].index == 1);
    prometheus_page page;
    add_metrics(page, history, "p");
    CHECK(page.text().find(R"(ekiden_pool_slow_task_seconds{pool="p",rank="1",thread="2",)"
                           R"(task="task \"2\"",waits_for="a\\b"} 1.5)")
          != std::string::npos);
    slow_task_history none(0);
    none.add({});
    CHECK(none.newest().empty());
}

} // namespace slow_tasks
