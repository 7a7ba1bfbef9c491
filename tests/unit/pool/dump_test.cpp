// What a pool says of itself while it hangs.
#include "../child_process.hpp"
#include "../failing_allocations.hpp"
#include <tests/unit/posix.hpp>

#include <ekiden/future/promise.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/raw_output.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <latch>
#include <limits>
#include <memory>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using namespace ekiden;

namespace {

/// What `write(file)` writes to a file.
template <class F>
std::string written(F&& write) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    write(ends[1]);
    ::close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(n));
    ::close(ends[0]);
    return text;
}

std::string dump_of(const thread_pool& pool) {
    return written([&pool](int file) { pool.dump(file); });
}

/// The dump, when it says this: however long the threads take until it is so.
std::string dump_with(const thread_pool& pool, const std::string& what) {
    for (;;) {
        std::string text = dump_of(pool);
        if (text.find(what) != std::string::npos) return text;
    }
}

struct dumped_job {
    std::latch& may_end;
    void operator()() const { may_end.wait(); }
};

} // namespace

TEST_CASE("raw output writes numbers and durations, and more than its buffer") {
    CHECK(written([](int file) {
              sys::raw_output(file) << "a" << std::uint64_t{0} << " "
                                    << std::numeric_limits<std::uint64_t>::max() << "\n";
          })
          == "a0 18446744073709551615\n");
    CHECK(written([](int file) {
              sys::raw_output out(file);
              out.duration(999) << ",";
              out.duration(7'999) << ",";
              out.duration(50'000'000) << ",";
              out.duration(12'345'678'901) << ".";
          })
          == "0 us,7 us,50 ms,12.3 s.");
    const std::string longer(5000, 'x');
    CHECK(written([&](int file) { sys::raw_output(file) << longer << longer; }) == longer + longer);
    sys::raw_output(-1) << longer; // cannot be written: dropped
}

TEST_CASE("an idle pool's threads sleep without tasks") {
    thread_pool pool({.threads = 2, .name = "idle"});
    const std::string text = dump_with(pool, "idle-1: sleeps without tasks for ");
    CHECK(text.starts_with("pool idle: 2 threads, 0 tasks queued or running\n"));
    dump_with(pool, "idle-0: sleeps without tasks for ");
    pool.pause();
    CHECK(dump_of(pool).find("queued or running, paused\n") != std::string::npos);
    pool.resume();
    pool.stop();
    CHECK(dump_of(pool).find("queued or running, stopped\n") != std::string::npos);
}

TEST_CASE("a task that runs on is shown with its type, and how many tasks wait behind it") {
    thread_pool pool({.threads = 1, .name = "busy"});
    std::latch may_end(1);
    pool.post(dumped_job{may_end});
    for (int i = 0; i != 5; ++i) pool.post([] {});
    // It may still be on its way there at one look, and be in it at the next.
    const std::string text = dump_with(pool, "for 50 ms at least");
    CHECK(text.starts_with("pool busy: 1 threads, 6 tasks queued or running\n"));
    CHECK(text.find("dumped_job, for 50 ms at least") != std::string::npos);
    CHECK(text.find("\n  busy-0: runs ") != std::string::npos);
    may_end.count_down();
    pool.wait_idle();
}

TEST_CASE("a worker that has taken a task of a paused pool is shown so") {
    std::latch has_begun(1);
    std::latch may_end(1);
    thread_pool pool({.threads = 1, .name = "held"});
    pool.post([&] {
        has_begun.count_down();
        may_end.wait();
    });
    pool.post([] {});
    has_begun.wait();
    pool.pause();
    may_end.count_down();
    dump_with(pool, "\n  held-0: has a task that waits for resume()\n");
    pool.resume();
    pool.wait_idle();
}

TEST_CASE("a blocked worker is shown with what it said, in which task") {
    thread_pool pool({.threads = 1, .name = "blocked"});
    std::latch may_end(1);
    pool.post([&may_end] {
        const blocking_region here("a disk");
        dumped_job{may_end}();
    });
    const std::string text = dump_with(pool, "blocked-0: blocked on a disk for ");
    CHECK(text.find(", in ") != std::string::npos);
    may_end.count_down();
    pool.wait_idle();
}

TEST_CASE("a worker that waits for a result is shown with who runs that, or that nobody does") {
    thread_pool pool({.threads = 2, .name = "waits"});
    std::latch may_end(1);
    std::latch has_begun(1);
    future<void> slow = pool.submit([&] {
        has_begun.count_down();
        may_end.wait();
    });
    has_begun.wait(); // so that the other worker cannot run it itself
    pool.post([&slow] { slow.get(); });
    const std::string text = dump_with(pool, "waits for ");
    CHECK(text.find(", which waits-") != std::string::npos);
    CHECK(text.find(" runs\n") != std::string::npos);
    CHECK(text.find("circle") == std::string::npos);
    may_end.count_down();
    pool.wait_idle();

    promise<int> elsewhere;
    future<int> result = elsewhere.get_future();
    pool.post([&result] { (void)result.get(); });
    dump_with(pool, ", which no worker of this pool runs: it is queued, or elsewhere");
    elsewhere.set_value(1);
    pool.wait_idle();
}

TEST_CASE("tasks that wait for each other are shown as a circle, once") {
    for (const unsigned threads : {1U, 2U}) {
        const auto child = ekiden_test::run_in_child([threads] {
            thread_pool pool({.threads = threads, .name = "stuck", .on_stall = [](const stall_report&) {}});
            future<int> first;
            future<int> second;
            std::latch both_there(1);
            first = pool.submit([&] {
                both_there.wait();
                return second.get();
            });
            second = pool.submit([&] {
                both_there.wait();
                return first.get();
            });
            both_there.count_down();
            const std::string text = dump_with(pool, "circle: ");
            ::_exit(text.find("circle: ") == text.rfind("circle: ")
                            && text.find("has on its stack\n") != text.npos
                        ? 42
                        : 1);
        });
        CHECK(child.exit_code == 42);
    }
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("a dump allocates nothing, also in a signal handler") {
    EKIDEN_SKIP_ON_WINDOWS("there are no signals");
    static thread_pool* dumped = nullptr;
    static int file = -1;
    thread_pool pool({.threads = 2, .name = "signalled"});
    dumped = &pool;
    dump_with(pool, "signalled-0: sleeps without tasks"); // and takes no memory meanwhile
    dump_with(pool, "signalled-1: sleeps without tasks");
    const std::string text = written([](int to) {
        file = to;
        struct sigaction how{};
        how.sa_handler = [](int) { dumped->dump(file); };
        struct sigaction before{};
        REQUIRE(::sigaction(SIGUSR1, &how, &before) == 0);
        const long allocations = ekiden_test::allocation_count();
        REQUIRE(::raise(SIGUSR1) == 0);
        CHECK(ekiden_test::allocation_count() == allocations);
        REQUIRE(::sigaction(SIGUSR1, &before, nullptr) == 0);
    });
    CHECK(text.starts_with("pool signalled: 2 threads, 0 tasks"));
}
#endif

TEST_CASE("dumps of a pool that works, grows and shrinks") {
    thread_pool pool({.threads = 1, .name = "alive", .max_threads = 6, .keep_alive = 0ms});
    std::atomic<bool> ends{false};
    pool.post([&] {
        while (!ends.load()) {
            const auto three = std::make_shared<std::latch>(3); // one may still wait when the others go on
            for (int i = 0; i != 3; ++i) {
                pool.post([three] {
                    const blocking_region here("the others");
                    three->arrive_and_wait();
                });
            }
            const blocking_region here("all of them");
            three->wait();
        }
    });
    for (int i = 0; i != 20; ++i) CHECK(dump_of(pool).starts_with("pool alive: "));
    ends.store(true);
    pool.wait_idle();
}

TEST_CASE("a circle of waits that run nothing meanwhile is shown and reported") {
    for (const unsigned threads : {1U, 2U}) {
        const auto child = ekiden_test::run_in_child([threads] {
            std::atomic<unsigned> reported{0};
            thread_pool pool(
                {.threads = threads, .name = "stuck", .on_stall = [&](const stall_report& report) {
                     if (report.why == stall_report::reason::deadlocked)
                         reported = static_cast<unsigned>(report.threads.size());
                 }});
            future<int> results[2];
            std::latch both_there(1);
            for (unsigned i = 0; i != threads; ++i) {
                results[i] = pool.submit([&, i] {
                    both_there.wait();
                    return results[(i + 1) % threads].get(blocking);
                });
            }
            both_there.count_down();
            ::alarm(20);
            while (reported.load() == 0) std::this_thread::yield();
            const std::string text = dump_with(pool, "circle: ");
            ::_exit(reported.load() == threads && text.find("has on its stack\n") != text.npos ? 42 : 1);
        });
        CHECK(child.exit_code == 42);
    }
}

TEST_CASE("a result in the memory of the task that runs is not taken for that task") {
    thread_pool pool({.threads = 1, .name = "reused"});
    std::atomic<bool> has_begun{false};
    promise<void> elsewhere;
    pool.post([&] {
        // The next task's memory is free while it runs: this worker's newest.
        pool.post([&] {
            auto source = std::make_unique<promise<void>>();
            elsewhere = std::move(*source);
            const future<void> awaited = elsewhere.get_future();
            has_begun = true;
            awaited.wait();
        });
    });
    while (!has_begun) std::this_thread::yield();
    const std::string text = dump_with(pool, "waits for ");
    CHECK(text.find("circle") == std::string::npos);
    CHECK(text.find(", which no worker of this pool runs") != std::string::npos);
    elsewhere.set_value();
    pool.wait_idle();
}

TEST_CASE("a dump shows the workers that there were when it began") {
    thread_pool pool({.threads = 1, .name = "grows", .max_threads = 16, .watch_interval = 0ms});
    std::latch may_end(1);
    std::string text;
    std::thread dumping([&] { text = dump_of(pool); });
    std::this_thread::sleep_for(10ms); // it is between its two looks
    for (int i = 0; i != 15; ++i) {
        pool.post([&may_end] {
            const blocking_region here("all of them");
            may_end.wait();
        });
    }
    dumping.join();
    may_end.count_down();
    pool.wait_idle();
    std::size_t lines = 0;
    for (std::size_t at = 0; (at = text.find("\n  grows-", at)) != std::string::npos; ++at) ++lines;
    CHECK(text.starts_with("pool grows: " + std::to_string(lines) + " threads"));
}

TEST_CASE("a dump leaves errno alone") {
    thread_pool pool({.threads = 1});
    errno = ENOTTY;
    pool.dump(-1);
    CHECK(errno == ENOTTY);
}
