// A pool that was made with the default number of threads follows the number of usable processors.
#include "../affinity.hpp"
#include "../child_process.hpp"
#include "../effort.hpp"
#include "../eventually.hpp"
#include <ekiden/pool/add_metrics.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/topology.hpp>
#include <tests/unit/posix.hpp>

#include <atomic>
#include <chrono>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <latch>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace follows {
namespace {

using namespace ekiden;
using ekiden_test::eventually;
using ekiden_test::one_processor;
using namespace std::chrono_literals;

/// Adapts the pool as if the process had so many processors.
void follow(thread_pool& pool, unsigned processors) { engine_of(pool).threads().follow(processors); }

thread_pool_options up_to(unsigned most) { return {.keep_alive = 0ms, .upper_threads = most}; }

/// A control group of its own below the group of this process.
class control_group {
public:
    control_group() {
        std::ifstream groups("/proc/self/cgroup");
        for (std::string line; path_.empty() && std::getline(groups, line);) {
            const auto second = line.find(':', line.find(':') + 1);
            if (second == std::string::npos) continue;
            const std::string controllers = line.substr(line.find(':') + 1, second - line.find(':') - 1);
            is_v2_ = controllers.empty();
            if (!is_v2_ && controllers != "cpu" && controllers != "cpu,cpuacct") continue;
            make("/sys/fs/cgroup/" + controllers + line.substr(second + 1));
        }
    }
    ~control_group() {
        if (!path_.empty()) std::filesystem::remove(path_);
    }
    control_group(const control_group&) = delete;
    control_group& operator=(const control_group&) = delete;

    [[nodiscard]] bool exists() const { return !path_.empty(); }
    [[nodiscard]] bool limit(unsigned processors) const {
        const std::string quota = std::to_string(100'000 * processors);
        return is_v2_ ? write("cpu.max", quota + " 100000") : write("cpu.cfs_quota_us", quota);
    }
    [[nodiscard]] bool enter() const { return write("cgroup.procs", std::to_string(::getpid())); }

private:
    void make(const std::string& parent) {
        path_ = parent + "/ekiden-test-" + std::to_string(::getpid());
        std::error_code refused;
        // In a folder that is not a control group, limit() would make a file.
        if (std::filesystem::create_directory(path_, refused)
            && std::filesystem::exists(path_ + "/cgroup.procs", refused) && limit(1))
            return;
        std::filesystem::remove(path_, refused);
        path_.clear();
    }
    [[nodiscard]] bool write(const char* file, const std::string& text) const {
        std::ofstream to(path_ + "/" + file);
        to << text << std::flush;
        return static_cast<bool>(to);
    }

    std::string path_;
    bool is_v2_ = false;
};

} // namespace

TEST_CASE("A pool gets more threads with more processors, up to its bound, and all of them run tasks") {
    thread_pool pool(up_to(4));
    follow(pool, 100);
    CHECK(pool.thread_count() == 4);
    CHECK(pool.max_thread_count() == 4);
    CHECK(pool.metrics().threads == 4);
    std::latch all_there(4);
    for (int i = 0; i != 4; ++i) pool.post([&] { all_there.arrive_and_wait(); });
    pool.wait_idle();
    CHECK(pool.metrics().threads_wanted == 4);
    prometheus_page page;
    add_metrics(page, pool.metrics(), "p");
    CHECK(page.text().find("ekiden_pool_threads_wanted{pool=\"p\"} 4") != std::string::npos);
    CHECK(page.text().find("ekiden_pool_threads_adapted_total{pool=\"p\"} 1") != std::string::npos);
}

TEST_CASE("A pool gets fewer threads with fewer processors, also if all of its threads sleep") {
    thread_pool pool(up_to(4));
    follow(pool, 4);
    CHECK(eventually([&] { return pool.activity() == "...."; }));
    follow(pool, 0);
    CHECK(pool.thread_count() == 1);
    CHECK(eventually([&] { return pool.metrics().threads == 1; }));
    CHECK(pool.submit([] { return 3; }).get() == 3);
    follow(pool, 3);
    CHECK(pool.metrics().threads == 3);
    CHECK(pool.metrics().threads_adapted == 3);
}

TEST_CASE("Running tasks continue when there are fewer processors, and then fewer tasks run at once") {
    thread_pool pool({.keep_alive = 1h, .least_threads = 2, .upper_threads = 4});
    follow(pool, 4);
    std::latch all_there(5);
    std::latch release(1);
    for (int i = 0; i != 4; ++i) {
        pool.post([&] {
            all_there.count_down();
            release.wait();
        });
    }
    all_there.arrive_and_wait();
    follow(pool, 1);
    CHECK(pool.thread_count() == 2); // the lower bound
    CHECK(pool.metrics().threads == 4);
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    std::atomic<int> ran{0};
    for (int i = 0; i != 200; ++i) {
        pool.post([&] {
            const int now = running.fetch_add(1) + 1;
            // The first tasks may begin before the other threads have seen that they are too many.
            int before = most.load();
            while (ran > 20 && now > before && !most.compare_exchange_weak(before, now)) {
            }
            std::this_thread::sleep_for(200us);
            running.fetch_sub(1);
            ++ran;
        });
    }
    release.count_down();
    pool.wait_idle();
    CHECK(ran == 200);
    CHECK(most <= 2);
    CHECK(eventually([&] { return pool.metrics().threads_standing_by == 2; }));
    follow(pool, 4); // the threads that stand by are hired
    CHECK(pool.metrics().threads_standing_by == 0);
    CHECK(pool.metrics().peak_threads == 4);
}

TEST_CASE("A pool that follows still replaces blocked threads, up to max_threads") {
    thread_pool pool({.max_threads = 3, .keep_alive = 0ms, .watch_interval = 0ms, .upper_threads = 2});
    follow(pool, 1);
    std::latch all_there(3);
    for (int i = 0; i != 3; ++i) pool.post([&] { block([&] { all_there.arrive_and_wait(); }); });
    pool.wait_idle();
    CHECK(pool.metrics().peak_threads == 3);
    CHECK(eventually([&] { return pool.metrics().threads == 1; }));
}

TEST_CASE("A pool with a chosen number of threads does not follow") {
    for (const unsigned least : {1U, 5U}) {
        thread_pool pool({.threads = 2, .least_threads = least});
        follow(pool, 1);
        CHECK(pool.thread_count() == 2);
        CHECK(pool.follow_processors() == 2);
        CHECK(pool.metrics().threads_adapted == 0);
    }
}

TEST_CASE("Options for the number of processors are checked") {
    CHECK_THROWS_AS(thread_pool({.least_threads = 0}), std::invalid_argument);
    CHECK_THROWS_AS(thread_pool({.least_threads = 5000}), std::invalid_argument);
    CHECK_THROWS_AS(thread_pool({.least_threads = 3, .upper_threads = 2}), std::invalid_argument);
    CHECK_THROWS_AS(thread_pool({.upper_threads = 5000}), std::invalid_argument);
    CHECK_THROWS_AS(thread_pool({.follow_interval = -1ms}), std::invalid_argument);
    CHECK(thread_pool({.least_threads = 3}).thread_count() >= 3);
    CHECK(thread_pool({.upper_threads = 1}).thread_count() == 1);
}

TEST_CASE("A call reads the affinity mask again") {
    EKIDEN_SKIP_ON_MACOS("a program cannot choose processors");
    if (sys::usable_concurrency() < 2) return;
    const auto all = sys::usable_concurrency();
    thread_pool pool;
    CHECK(pool.thread_count() == all);
    {
        const one_processor here;
        CHECK(pool.thread_count() == all); // not yet
        CHECK(pool.follow_processors() == 1);
    }
    CHECK(pool.follow_processors() == all);
    CHECK(pool.metrics().threads_adapted == 2);
}

TEST_CASE("With an interval, a pool reads the affinity mask again without a call") {
    EKIDEN_SKIP_ON_MACOS("a program cannot choose processors");
    if (sys::usable_concurrency() < 2) return;
    const auto all = sys::usable_concurrency();
    std::atomic<bool> is_over{false};
    thread_pool pool({.watch_interval = 1ms, .follow_interval = 1ms});
    pool.post([&] {
        while (!is_over) std::this_thread::sleep_for(1ms); // the watch sleeps while all workers sleep
    });
    {
        const one_processor here;
        CHECK(eventually([&] { return pool.thread_count() == 1; }));
    }
    CHECK(eventually([&] { return pool.thread_count() == all; }));
    is_over = true;
}

TEST_CASE("Calls that follow while tasks run and the pool ends lose no task") {
    for (int round = 0; round != ekiden_test::rounds(20); ++round) {
        std::atomic<int> ran{0};
        std::optional<thread_pool> pool;
        pool.emplace(up_to(4));
        std::atomic<bool> is_over{false};
        std::thread other([&] {
            for (unsigned n = 1; !is_over; n = n * 7 % 5) follow(*pool, n);
        });
        for (int i = 0; i != 2000; ++i) pool->post([&] { ++ran; });
        if (round % 2 == 0) {
            pool->wait_idle();
            CHECK(ran == 2000);
        }
        pool->join();
        is_over = true;
        other.join();
        CHECK(ran == 2000);
        CHECK(pool->metrics().tasks_pending == 0);
        pool.reset();
    }
}

TEST_CASE("Tasks and the watch follow while the pool is destroyed, and no task is lost") {
    for (int round = 0; round != ekiden_test::rounds(20); ++round) {
        std::atomic<int> ran{0};
        std::optional<thread_pool> held;
        thread_pool& pool = held.emplace(thread_pool_options{.keep_alive = 0ms,
                                                             .watch_interval = 1ms,
                                                             .follow_interval = 1ms,
                                                             .least_threads = 1,
                                                             .upper_threads = 4});
        for (int i = 0; i != 200; ++i) {
            pool.post([&pool, &ran, i] {
                follow(pool, static_cast<unsigned>(i * 7 % 5));
                CHECK(pool.follow_processors() >= 1);
                ++ran;
            });
        }
        if (round % 2 == 0) held.reset(); // the destructor joins, while the tasks call the pool
        if (round % 2 == 1) {
            pool.stop();
            held.reset();
            CHECK(ran <= 200);
        } else {
            CHECK(ran == 200);
        }
    }
}

#if !defined(EKIDEN_TSAN) && !defined(EKIDEN_TEST_EMULATOR)
TEST_CASE("In the child of a fork, a call changes nothing and returns at once") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    thread_pool pool(up_to(4));
    const auto child = ekiden_test::run_in_child([&] {
        if (pool.follow_processors() != pool.thread_count()) std::exit(3);
        std::_Exit(0);
    });
    CHECK(child.exit_code == 0);
}

TEST_CASE("A pool follows the quota of its control group") {
    EKIDEN_SKIP_ON_WINDOWS("there are no control groups");
    EKIDEN_SKIP_ON_MACOS("there are no control groups");
    const control_group group;
    if (!group.exists() || sys::usable_cpus().size() < 2) {
        MESSAGE("skipped: this machine does not let the test make a control group with a quota");
        return;
    }
    const auto child = ekiden_test::run_in_child([&] {
        if (!group.enter()) std::exit(2);
        {
            thread_pool pool;
            if (pool.thread_count() != 1) std::exit(3);
            if (!group.limit(2)) std::exit(4);
            if (pool.follow_processors() != 2) std::exit(5);
            std::latch both(2);
            for (int i = 0; i != 2; ++i) pool.post([&] { both.arrive_and_wait(); });
            pool.wait_idle();
            if (!group.limit(1)) std::exit(6);
            if (pool.follow_processors() != 1) std::exit(7);
            if (pool.metrics().threads_adapted != 2) std::exit(8);
        }
    });
    CHECK(child.exit_code == 0);
}
#endif

} // namespace follows
