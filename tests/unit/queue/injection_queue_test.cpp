#include "nearly_wrapped.hpp"

#include <ekiden/queue/injection_queue.hpp>

#include <tests/unit/effort.hpp>
#include <tests/unit/failing_allocations.hpp>
#include <tests/unit/queue/numbered_tasks.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <latch>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

using ekiden::injection_queue;
using ekiden::task;
using ekiden_test::numbered_tasks;
using gate = ekiden::sys::atomic<std::uint32_t>;

namespace {

constexpr std::uint32_t closed = 4;

/// Takes note of all that is in the queue and returns how many tasks that were; -1 if those of one producer
/// came out of order.
int drain(injection_queue& queue) {
    std::vector<int> before(1000, -1);
    int sum = 0;
    for (std::size_t start = 0; queue.maybe_filled(); ++start) {
        task* const next = queue.take_one(start);
        if (next == nullptr) continue;
        const auto& taken = ekiden_test::take(next);
        int& last = before[static_cast<std::size_t>(taken.producer)];
        if (taken.number <= last) return -1;
        last = taken.number;
        ++sum;
    }
    return sum;
}

/// The tasks of several producers.
std::deque<numbered_tasks> tasks_of(int producers, int n) {
    std::deque<numbered_tasks> all;
    for (int p = 0; p != producers; ++p) all.emplace_back(n, p);
    return all;
}

} // namespace

TEST_CASE("A queue that nobody has pushed to is empty") {
    const gate open{0};
    injection_queue queue(open);
    CHECK_FALSE(queue.maybe_filled());
    CHECK(queue.pushed() == 0);
    for (const std::size_t start : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, ~std::size_t{0}})
        CHECK(queue.take_one(start) == nullptr);
    queue.quiesce();
}

TEST_CASE("A task is found from whichever ring the search starts at") {
    const gate open{0};
    for (const std::size_t start : {std::size_t{0}, std::size_t{1}, std::size_t{2}, ~std::size_t{0}}) {
        injection_queue queue(open, 2, nearly_wrapped);
        numbered_tasks all(1);
        REQUIRE(queue.push(all.at(0), closed));
        CHECK(queue.take_one(start) == all.at(0));
    }
}

TEST_CASE("The gate refuses a push only for the bits that the push names") {
    gate bits{1};
    injection_queue queue(bits);
    numbered_tasks all(3);
    CHECK(queue.push(all.at(0), closed));
    bits.store(closed | 1);
    CHECK_FALSE(queue.push(all.at(1), closed));
    CHECK(queue.push(all.at(1), 2));
    CHECK_FALSE(queue.push(all.at(2), closed | 2));
    bits.store(0);
    CHECK(queue.push(all.at(2), closed));
    CHECK(queue.pushed() == 3);
    CHECK(drain(queue) == 3);
    CHECK(all.taken_wrongly() == 0);
}

TEST_CASE("The tasks of each producer come out in the order of its pushes while all push at once") {
    constexpr int producers = 4;
    const int n = ekiden_test::rounds(50'000);
    const gate open{0};
    injection_queue queue(open, 4, nearly_wrapped - 100);
    auto all = tasks_of(producers, n);
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int p = 0; p != producers; ++p) {
        threads.emplace_back([&, p] {
            for (int i = 0; i != n; ++i)
                refused += !queue.push(all[static_cast<std::size_t>(p)].at(i), closed);
        });
    }
    std::vector<int> next(producers, 0);
    bool in_order = true;
    for (int sum = 0; sum != producers * n;) {
        task* const oldest = queue.take_one(static_cast<std::size_t>(sum));
        if (oldest == nullptr) {
            std::this_thread::yield();
            continue;
        }
        const auto& taken = ekiden_test::take(oldest);
        in_order &= taken.number == next[static_cast<std::size_t>(taken.producer)]++;
        ++sum;
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(in_order);
    CHECK(refused.load() == 0);
    CHECK_FALSE(queue.maybe_filled());
    CHECK(queue.pushed() == static_cast<std::uint64_t>(producers * n));
}

TEST_CASE("Each task comes out once with many producers and many consumers") {
    constexpr int producers = 3;
    const int n = ekiden_test::rounds(50'000);
    const gate open{0};
    injection_queue queue(open, 4);
    auto all = tasks_of(producers, n);
    std::atomic<int> sum{0};
    std::vector<std::thread> threads;
    for (int p = 0; p != producers; ++p) {
        threads.emplace_back([&, p] {
            for (int i = 0; i != n; ++i) (void)queue.push(all[static_cast<std::size_t>(p)].at(i), closed);
        });
        threads.emplace_back([&, p] {
            while (sum.load() != producers * n) {
                std::array<task*, 5> taken{};
                const std::size_t count = queue.take(static_cast<std::size_t>(p), taken, 2);
                for (std::size_t i = 0; i != count; ++i) ekiden_test::take(taken[i]);
                sum.fetch_add(static_cast<int>(count));
                if (count == 0) std::this_thread::yield();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const numbered_tasks& some : all) CHECK(some.taken_wrongly() == 0);
}

TEST_CASE("Consumers that stop when a take returns nothing leave no task behind") {
    const int rounds = ekiden_test::rounds(300);
    for (int round = 0; round != rounds; ++round) {
        constexpr int n = 64;
        const gate open{0};
        injection_queue queue(open, 4);
        auto all = tasks_of(1, n);
        for (int i = 0; i != n; ++i) (void)queue.push(all.front().at(i), closed);
        std::latch started(3);
        std::vector<std::thread> threads;
        for (int consumer = 0; consumer != 3; ++consumer) {
            threads.emplace_back([&] {
                started.arrive_and_wait();
                while (task* const next = queue.take_one(0)) ekiden_test::take(next);
            });
        }
        for (std::thread& thread : threads) thread.join();
        REQUIRE_FALSE(queue.maybe_filled());
        REQUIRE(all.front().taken_wrongly() == 0);
    }
}

TEST_CASE("After the gate was closed and the queue is quiet exactly the accepted tasks are in it") {
    const int rounds = ekiden_test::rounds(400);
    for (int round = 0; round != rounds; ++round) {
        constexpr int producers =
            5; // more than processors, so that some are interrupted between look and push
        constexpr std::uint64_t most = 100'000;
        gate bits{0};
        injection_queue queue(bits, 64, nearly_wrapped);
        static ekiden_test::numbered_task shared(0); // the same one again and again: only counted
        std::array<std::uint64_t, producers> accepted{};
        std::latch started(producers + 1);
        std::vector<std::thread> threads;
        for (std::size_t p = 0; p != producers; ++p) {
            threads.emplace_back([&, p] {
                ekiden_test::numbered_task mine(0);
                started.arrive_and_wait();
                std::uint64_t count = 0;
                while (count != most && queue.push(&mine, closed)) ++count;
                accepted[p] = count;
                // `mine` ends here: the queue's pointers to it are only counted
            });
        }
        started.arrive_and_wait();
        for (int spin = round % 100 * 20; spin != 0; --spin) ekiden::sys::spin_hint();
        bits.store(closed);
        queue.quiesce();
        const std::uint64_t quiet = queue.pushed();
        for (std::thread& thread : threads) thread.join();
        CHECK_FALSE(queue.push(&shared, closed));
        CHECK(queue.pushed() == quiet);
        REQUIRE(quiet == std::accumulate(accepted.begin(), accepted.end(), std::uint64_t{0}));
        std::uint64_t found = 0;
        while (queue.maybe_filled()) found += queue.take_one(0) != nullptr;
        REQUIRE(found == quiet);
    }
}

TEST_CASE("More producers than there are rings share them and lose nothing") {
    constexpr int producers = 2 * static_cast<int>(injection_queue::most_rings) + 20;
    const int n = ekiden_test::rounds(1000);
    const gate open{0};
    injection_queue queue(open, 2, nearly_wrapped);
    auto all = tasks_of(producers, n);
    std::latch everybody(producers);
    std::vector<std::thread> threads;
    for (int p = 0; p != producers; ++p) {
        threads.emplace_back([&, p] {
            auto& mine = all[static_cast<std::size_t>(p)];
            (void)queue.push(mine.at(0), closed);
            everybody.arrive_and_wait(); // all rings are there
            for (int i = 1; i != n; ++i) (void)queue.push(mine.at(i), closed);
            everybody.wait();
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(queue.pushed() == static_cast<std::uint64_t>(producers * n));
    CHECK(drain(queue) == producers * n);
    for (const numbered_tasks& some : all) CHECK(some.taken_wrongly() == 0);
}

TEST_CASE("A gate that closes on shared rings leaves exactly the accepted tasks in the queue") {
    constexpr int producers = 2 * static_cast<int>(injection_queue::most_rings) + 10;
    for (int round = 0; round != 5; ++round) {
        gate bits{0};
        injection_queue queue(bits, 2);
        std::atomic<std::uint64_t> accepted{0};
        std::latch everybody(producers + 1);
        std::vector<std::thread> threads;
        for (int p = 0; p != producers; ++p) {
            threads.emplace_back([&] {
                ekiden_test::numbered_task mine(0);
                std::uint64_t count = queue.push(&mine, closed) ? 1 : 0;
                everybody.arrive_and_wait();
                while (count < 20'000 && queue.push(&mine, closed)) ++count;
                accepted += count;
            });
        }
        everybody.arrive_and_wait();
        bits.store(closed);
        queue.quiesce();
        const std::uint64_t quiet = queue.pushed();
        for (std::thread& thread : threads) thread.join();
        CHECK(queue.pushed() == quiet);
        CHECK(accepted.load() == quiet);
        while (queue.maybe_filled()) (void)queue.take_one(0);
    }
}
