// on_thread_start and on_thread_stop: each thread calls both once, around its tasks, however it ends.
#include "../child_process.hpp"
#include "../effort.hpp"
#include "../eventually.hpp"
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <tests/unit/posix.hpp>

#include <atomic>
#include <chrono>
#include <doctest/doctest.h>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace pool_hooks {
namespace {

using namespace ekiden;
using ekiden_test::eventually;
using namespace std::chrono_literals;

/// The index that on_thread_start has got in this thread, until on_thread_stop.
thread_local std::optional<unsigned> started_as;

/// Checks the calls of both hooks of one pool.
class hook_record {
public:
    void start(unsigned index) {
        const std::lock_guard guard(lock_);
        if (started_as.has_value()) ++faults_;         // the second start in one thread
        if (!present_.insert(index).second) ++faults_; // another thread has this index
        started_as = index;
        ++starts_;
    }
    void stop(unsigned index) {
        const std::lock_guard guard(lock_);
        if (started_as != index) ++faults_;
        if (present_.erase(index) != 1) ++faults_;
        started_as.reset();
        ++stops_;
    }
    /// Called by tasks.
    void see(const thread_pool& pool) {
        if (!started_as.has_value() || started_as != pool.this_worker_index()) ++faults_;
    }

    [[nodiscard]] int starts() const { return starts_; }
    [[nodiscard]] int stops() const { return stops_; }
    [[nodiscard]] int faults() const { return faults_; }

    thread_pool_options with(thread_pool_options options) {
        options.on_thread_start = [this](unsigned index) { start(index); };
        options.on_thread_stop = [this](unsigned index) { stop(index); };
        return options;
    }

private:
    std::mutex lock_;
    std::set<unsigned> present_;
    std::atomic<int> starts_{0};
    std::atomic<int> stops_{0};
    std::atomic<int> faults_{0};
};

std::string last_words(void (*body)()) {
    const auto child = ekiden_test::run_in_child([&] {
        body();
        for (;;) ::pause();
    });
    CHECK(child.signal == SIGABRT);
    return child.error_output;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("Each thread of a pool calls on_thread_start before its tasks and on_thread_stop after them") {
    hook_record record;
    {
        thread_pool pool(record.with({.threads = 3}));
        for (int i = 0; i != 1000; ++i) pool.post([&] { record.see(pool); });
        pool.wait_idle();
        CHECK(eventually([&] { return record.starts() == 3; }));
        CHECK(record.stops() == 0);
    }
    CHECK(record.starts() == 3);
    CHECK(record.stops() == 3);
    CHECK(record.faults() == 0);
}

TEST_CASE("The threads of a pool that stops at once call both functions, too") {
    for (int round = 0; round != ekiden_test::rounds(50); ++round) {
        hook_record record;
        {
            thread_pool pool(record.with({.threads = 2}));
            if (round % 2 == 0) pool.pause();
            pool.post([&] { record.see(pool); });
            pool.stop();
        }
        CHECK(record.starts() == 2);
        CHECK(record.stops() == 2);
        CHECK(record.faults() == 0);
    }
}

TEST_CASE("The threads that an elastic pool starts and ends call both functions, one thread an index") {
    hook_record record;
    std::atomic<int> ran{0};
    const int rounds = ekiden_test::rounds(40);
    {
        thread_pool pool(record.with({.threads = 1, .max_threads = 4, .keep_alive = 0ms}));
        for (int round = 0; round != rounds; ++round) {
            std::latch all_there(4);
            for (int i = 0; i != 4; ++i) {
                pool.post([&] {
                    record.see(pool);
                    block([&] { all_there.arrive_and_wait(); });
                    record.see(pool);
                    ++ran;
                });
            }
            pool.wait_idle();
        }
        CHECK(eventually([&] { return record.starts() - record.stops() == 1; }));
        // A thread that has called on_thread_stop counts until its last step.
        CHECK(eventually([&] { return pool.metrics().threads == 1; }));
    }
    CHECK(ran == 4 * rounds);
    CHECK(record.starts() > 4); // threads have ended, and others have got their indexes
    CHECK(record.stops() == record.starts());
    CHECK(record.faults() == 0);
}

TEST_CASE("A thread that is needed while another one runs on_thread_stop starts when that one has ended") {
    std::latch stop_may_return(1);
    std::atomic<int> stops{0};
    thread_pool pool({.threads = 1,
                      .max_threads = 2,
                      .keep_alive = 0ms,
                      .watch_interval = 0ms,
                      .on_thread_stop = [&](unsigned) {
                          if (++stops == 1) stop_may_return.wait();
                      }});
    {
        std::latch both(2);
        for (int i = 0; i != 2; ++i) {
            pool.post([&] { block([&] { both.arrive_and_wait(); }); });
        }
        pool.wait_idle(); // no task uses the latch any more
        CHECK(eventually([&] { return stops == 1; }));
    }
    CHECK(pool.metrics().threads == 2); // the thread in on_thread_stop exists
    std::latch second_ran(1);
    std::atomic<bool> first_blocks{false};
    pool.post([&] {
        block([&] {
            first_blocks = true;
            second_ran.wait();
        });
    });
    CHECK(eventually([&] { return first_blocks.load(); }));
    pool.post([&] { second_ran.count_down(); });
    CHECK(eventually([&] { return pool.metrics().is_saturated; }));
    CHECK(!second_ran.try_wait());
    stop_may_return.count_down();
    CHECK(pool.wait_idle_for(1min));
}

TEST_CASE("A pool that stops while a surplus thread runs on_thread_stop waits for it once") {
    for (int round = 0; round != ekiden_test::rounds(20); ++round) {
        hook_record record;
        std::latch stopped(1);
        std::atomic<bool> is_leaving{false};
        {
            auto options = record.with({.threads = 1, .max_threads = 2, .keep_alive = 0ms});
            options.on_thread_stop = [&](unsigned index) {
                is_leaving = true;
                stopped.wait();
                record.stop(index);
            };
            thread_pool pool(options);
            std::latch both(2);
            for (int i = 0; i != 2; ++i) pool.post([&] { block([&] { both.arrive_and_wait(); }); });
            pool.wait_idle(); // no task uses the latch any more
            CHECK(eventually([&] { return is_leaving.load(); }));
            pool.stop();
            stopped.count_down();
        }
        CHECK(record.starts() == 2);
        CHECK(record.stops() == 2);
        CHECK(record.faults() == 0);
    }
}

TEST_CASE("Exceptions of the functions are told with the name of the option, and the thread goes on") {
    std::mutex lock;
    std::vector<std::string> told;
    int runs = 0;
    {
        thread_pool pool({.threads = 1,
                          .on_unhandled_exception =
                              [&](std::exception_ptr, std::string_view name) {
                                  const std::lock_guard guard(lock);
                                  told.emplace_back(name);
                              },
                          .on_thread_start = [](unsigned) { throw std::runtime_error("start"); },
                          .on_thread_stop = [](unsigned) { throw 1; }});
        pool.post([&] { ++runs; });
    }
    CHECK(runs == 1);
    CHECK(told == std::vector<std::string>{"on_thread_start", "on_thread_stop"});
}

TEST_CASE("Without a handler, an exception of on_thread_start ends the program with its text") {
    const std::string text = last_words([] {
        thread_pool pool(
            {.threads = 1, .on_thread_start = [](unsigned) { throw std::runtime_error("no locale"); }});
    });
    CHECK(has(text, "ekiden: the function on_thread_start ended with an exception: no locale\n"));
}

TEST_CASE("A pool that on_thread_stop destroys stops the program, and the option is named") {
    const std::string text = last_words([] {
        static std::shared_ptr<thread_pool> pool;
        pool = std::make_shared<thread_pool>(
            thread_pool_options{.threads = 1, .on_thread_stop = [](unsigned) { pool.reset(); }});
        pool->stop();
        for (;;) ::pause();
    });
    CHECK(
        has(text, "a thread_pool is destroyed in one of its own threads, in its function on_thread_stop; "));
}

TEST_CASE("A child of fork() that returns from on_thread_start ends with a message") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    // The child writes to the same pipe as the process that has called fork().
    const auto child = ekiden_test::run_in_child([] {
        thread_pool pool({.threads = 1, .on_thread_start = [](unsigned) { (void)::fork(); }});
        pool.submit([] {}).get(); // the parent goes on
    });
    CHECK(child.exit_code == 0);
    CHECK(has(child.error_output, "on_thread_stop that called fork() has returned in the child"));
}

TEST_CASE("Tasks that on_thread_stop posts come from outside, and run in the other threads") {
    std::atomic<int> ran{0};
    std::optional<thread_pool> pool;
    pool.emplace(thread_pool_options{
        .threads = 1, .max_threads = 2, .keep_alive = 0ms, .on_thread_stop = [&](unsigned) {
            if (pool->running_in_this_thread()) return;
            (void)pool->post([&] { ++ran; });
        }});
    std::latch both(2);
    for (int i = 0; i != 2; ++i) pool->post([&] { block([&] { both.arrive_and_wait(); }); });
    CHECK(eventually([&] { return ran == 1; }));
    pool->join();
    CHECK(ran == 1); // the pool refuses the post of the last thread
}

} // namespace pool_hooks
