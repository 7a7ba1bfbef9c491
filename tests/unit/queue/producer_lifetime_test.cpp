#include <ekiden/queue/injection_queue.hpp>

#include <tests/unit/effort.hpp>
#include <tests/unit/failing_allocations.hpp>
#include <tests/unit/posix.hpp>
#include <tests/unit/queue/numbered_tasks.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <vector>

using ekiden::injection_queue;
using ekiden::task;
using ekiden_test::numbered_task;
using ekiden_test::numbered_tasks;
using gate = ekiden::sys::atomic<std::uint32_t>;

namespace {

const gate open_gate{0};

std::size_t drained(injection_queue& queue) {
    std::size_t sum = 0;
    while (queue.maybe_filled()) {
        task* const next = queue.take_one(sum);
        if (next == nullptr) continue;
        ekiden_test::take(next);
        ++sum;
    }
    return sum;
}

void push(injection_queue& queue, task* element) {
    if (!queue.push(element, 1)) FAIL("refused");
}

} // namespace

TEST_CASE("Tens of thousands of producers come and go one after the other and leave no memory behind") {
    const int threads = ekiden_test::rounds(30'000);
    injection_queue queue(open_gate, 256); // so that no ring ever grows
    numbered_tasks all(threads);
    long after_all_rings = 0;
    for (int t = 0; t != threads; ++t) {
        std::thread([&] { push(queue, all.at(t)); }).join();
        if (t % 100 == 99) CHECK(drained(queue) == 100);
        if (t == 99) after_all_rings = ekiden_test::live_allocation_count();
    }
    CHECK(ekiden_test::live_allocation_count() == after_all_rings);
    CHECK(all.taken_wrongly() == 0);
}

TEST_CASE("Waves of more producers than rings come and go and leave no memory behind") {
    constexpr int wave = 2 * static_cast<int>(injection_queue::most_rings) + 7;
    const int waves = ekiden_test::rounds(50);
    injection_queue queue(open_gate, 4, ~std::uint64_t{0} - 5);
    numbered_tasks all(wave * waves);
    long after_first = 0;
    for (int w = 0; w != waves; ++w) {
        {
            std::latch everybody(wave);
            std::vector<std::thread> threads;
            for (int t = 0; t != wave; ++t) {
                threads.emplace_back([&, t] {
                    push(queue, all.at(w * wave + t));
                    everybody.arrive_and_wait();
                });
            }
            for (std::thread& thread : threads) thread.join();
        }
        CHECK(drained(queue) == wave);
        if (w == 0) after_first = ekiden_test::live_allocation_count();
    }
    CHECK(ekiden_test::live_allocation_count() == after_first);
    CHECK(all.taken_wrongly() == 0);
}

TEST_CASE("A queue may end before its producer threads do") {
    const auto live = ekiden_test::live_allocation_count();
    {
        numbered_tasks all(3);
        auto queue = std::make_unique<injection_queue>(open_gate);
        std::latch pushed(4);
        std::latch gone(1);
        std::vector<std::thread> threads;
        for (int t = 0; t != 3; ++t) {
            threads.emplace_back([&, t] {
                push(*queue, all.at(t));
                pushed.arrive_and_wait();
                gone.wait();
                numbered_task other(0);
                injection_queue next(open_gate);
                push(next, &other);
                CHECK(drained(next) == 1);
            });
        }
        pushed.arrive_and_wait();
        CHECK(drained(*queue) == 3);
        queue.reset();
        gone.count_down();
        for (std::thread& thread : threads) thread.join();
    }
    CHECK(ekiden_test::live_allocation_count() == live);
}

TEST_CASE("Queues and producer threads may end at the same time") {
    const int rounds = ekiden_test::rounds(2000);
    const auto live = ekiden_test::live_allocation_count();
    for (int round = 0; round != rounds; ++round) {
        numbered_tasks all(2);
        auto queue = std::make_unique<injection_queue>(open_gate, 2);
        std::atomic<int> pushed{0};
        std::vector<std::thread> threads;
        for (int t = 0; t != 2; ++t) {
            threads.emplace_back([&, t, q = queue.get()] {
                push(*q, all.at(t));
                pushed.fetch_add(1);
            });
        }
        while (pushed.load() != 2) std::this_thread::yield();
        REQUIRE(drained(*queue) == 2);
        queue.reset(); // while the threads end
        for (std::thread& thread : threads) thread.join();
    }
    CHECK(ekiden_test::live_allocation_count() == live);
}

TEST_CASE("A thread that meets thousands of short-lived queues keeps none of their memory") {
    std::thread([] {
        const long before = ekiden_test::live_allocation_count();
        for (int i = 0; i != 5000; ++i) {
            numbered_task element(i);
            injection_queue queue(open_gate, 2);
            push(queue, &element);
            REQUIRE(drained(queue) == 1);
        }
        CHECK(ekiden_test::live_allocation_count() == before);
    }).join();
}

TEST_CASE("A new queue at the address of an old one is another queue") {
    std::optional<injection_queue> queue;
    for (int i = 0; i != 20; ++i) {
        queue.emplace(open_gate, 2);
        numbered_tasks all(3);
        for (int k = 0; k != 3; ++k) push(*queue, all.at(k));
        REQUIRE(queue->pushed() == 3);
        REQUIRE(drained(*queue) == 3);
    }
}

TEST_CASE("A thread that pushes to many queues uses one ring in each") {
    constexpr int count = 40;
    std::vector<std::unique_ptr<injection_queue>> queues;
    for (int q = 0; q != count; ++q) queues.push_back(std::make_unique<injection_queue>(open_gate, 4));
    numbered_tasks all(count * 50);
    for (int i = 0; i != count * 50; ++i) push(*queues[static_cast<std::size_t>(i % count)], all.at(i));
    for (const auto& queue : queues) {
        int before = -1;
        for (int i = 0; i != 50; ++i) {
            task* const next = queue->take_one(1); // one ring: all in order
            REQUIRE(next != nullptr);
            const int number = ekiden_test::take(next).number;
            CHECK(number > before);
            before = number;
        }
        CHECK_FALSE(queue->maybe_filled());
    }
    CHECK(all.taken_wrongly() == 0);
}

TEST_CASE("What destructors of thread_local objects push comes behind the thread's earlier pushes") {
    EKIDEN_SKIP_WITH_GCC_ON_WINDOWS("frees thread_local objects before it destroys them");
    static injection_queue queue(open_gate, 4);
    static numbered_task late(1);
    struct pushes {
        ~pushes() { push(queue, &late); }
    };
    numbered_task early(0);
    for (int round = 1; round != 50; ++round) {
        std::thread([&] {
            static thread_local pushes at_end;
            (void)&at_end;
            push(queue, &early);
        }).join();
        REQUIRE(queue.take_one(0) == &early);
        REQUIRE(queue.take_one(0) == &late);
    }
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("Whichever allocation of a first push fails nothing is queued and the next push works") {
    int failures = 0;
    for (bool failed = true; failed;) {
        injection_queue queue(open_gate, 4);
        numbered_task element(0);
        failed = false;
        std::thread([&] {
            {
                const ekiden_test::failing_allocation failing(failures);
                try {
                    push(queue, &element);
                } catch (const std::bad_alloc&) {
                    failed = true;
                }
            }
            if (failed) {
                CHECK(drained(queue) == 0);
                CHECK(queue.pushed() == 0);
                push(queue, &element);
            }
        }).join();
        CHECK(drained(queue) == 1);
        failures += failed;
    }
    CHECK(failures >= 4); // the ring, its slots and their list
}
#endif
