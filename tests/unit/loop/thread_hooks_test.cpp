// on_thread_start and on_thread_stop of a loop_pool.
#include <ekiden/loop/loop_pool.hpp>

#include <tests/unit/effort.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

thread_local std::optional<unsigned> loop_started_as;

} // namespace

TEST_CASE("Each thread of a loop_pool calls on_thread_start before its tasks and on_thread_stop after them") {
    for (int round = 0; round != ekiden_test::rounds(20); ++round) {
        std::atomic<int> starts{0};
        std::atomic<int> stops{0};
        std::atomic<int> faults{0};
        std::atomic<int> ran{0};
        {
            ekiden::loop_pool pool({.threads = 3,
                                    .on_thread_start =
                                        [&](unsigned index) {
                                            if (loop_started_as.has_value()) ++faults;
                                            loop_started_as = index;
                                            ++starts;
                                        },
                                    .on_thread_stop =
                                        [&](unsigned index) {
                                            if (loop_started_as != index) ++faults;
                                            loop_started_as.reset();
                                            ++stops;
                                        }});
            for (unsigned i = 0; i != 30; ++i) {
                pool.get_executor(i % 3).post([&, i] {
                    if (loop_started_as != i % 3) ++faults;
                    ++ran;
                });
            }
            if (round % 2 == 1) pool.stop();
            pool.join();
            CHECK(stops == 3);
        }
        if (round % 2 == 0) CHECK(ran == 30);
        CHECK(starts == 3);
        CHECK(stops == 3);
        CHECK(faults == 0);
    }
}

TEST_CASE("A thread whose loop is stopped alone calls on_thread_stop, and the other threads go on") {
    std::atomic<int> stops{0};
    std::atomic<unsigned> stopped{99};
    ekiden::loop_pool pool({.threads = 2, .on_thread_stop = [&](unsigned index) {
                                stopped = index;
                                ++stops;
                                stops.notify_all();
                            }});
    pool.get_executor(1).context().stop();
    stops.wait(0);
    CHECK(stopped == 1);
    CHECK(stops == 1);
    CHECK(pool.get_executor(0).submit([] { return 5; }).get() == 5);
    pool.join();
    CHECK(stops == 2);
}

TEST_CASE("Exceptions of the functions of a loop_pool are told like those of tasks") {
    std::mutex lock;
    std::vector<std::string> told;
    int runs = 0;
    {
        ekiden::loop_pool pool({.threads = 1,
                                .on_unhandled_exception =
                                    [&](std::exception_ptr, std::string_view name) {
                                        const std::lock_guard guard(lock);
                                        told.emplace_back(name);
                                    },
                                .on_thread_start = [](unsigned) { throw 1; },
                                .on_thread_stop = [](unsigned) { throw 2; }});
        pool.get_executor(0).post([&] { ++runs; });
    }
    CHECK(runs == 1);
    CHECK(told == std::vector<std::string>{"on_thread_start", "on_thread_stop"});
}
