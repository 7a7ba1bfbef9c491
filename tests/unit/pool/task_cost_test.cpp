// on_slow_task costs nothing for other tasks: they read no clock for it. This file counts the readings of
// the clock, because it replaces the system's function.
#include <ekiden/pool/thread_pool.hpp>

#include <chrono>
#include <ctime>
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(EKIDEN_TSAN) // TSan has such a function, too

namespace {

thread_local long readings = 0; // of this thread

} // namespace

extern "C" int clock_gettime(clockid_t which, struct timespec* now) noexcept {
    ++readings;
    return static_cast<int>(syscall(SYS_clock_gettime, which, now));
}

namespace task_cost {
namespace {

constexpr int tasks = 10'000;

/// Returns how often the only worker of a pool reads the clock while it runs `tasks` tasks.
long readings_of_tasks(ekiden::thread_pool_options options) {
    options.threads = 1;
    ekiden::thread_pool pool(options);
    long first = 0;
    long last = 0;
    pool.post([&] {
        for (int i = 0; i != tasks; ++i) pool.post([&] { last = readings; });
        first = readings;
    });
    pool.wait_idle();
    return last - first;
}

} // namespace

TEST_CASE("The reports about slow tasks cost no reading of the clock for each task") {
    using namespace std::chrono_literals;
    const long before = readings;
    (void)std::chrono::steady_clock::now();
    REQUIRE(readings == before + 1); // this file counts them
    const long without = readings_of_tasks({});
    CHECK(without < tasks / 8);
    const long with = readings_of_tasks({.slow_task_time = 1h, .on_slow_task = [](const auto&) {}});
    CHECK(with < tasks / 8);
}

} // namespace task_cost
#endif
