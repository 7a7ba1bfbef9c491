#include <ekiden/queue/serial_queue.hpp>

#include "../effort.hpp"
#include "numbered_tasks.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

using ekiden::serial_queue;
using ekiden::task;
using ekiden_test::numbered_task;
using ekiden_test::numbered_tasks;

TEST_CASE("Tasks come out of a serial queue in the order of the pushes") {
    serial_queue queue;
    numbered_tasks tasks(5);
    CHECK(queue.push(tasks.at(0)));
    for (int i = 1; i != 5; ++i) CHECK_FALSE(queue.push(tasks.at(i)));
    for (int i = 0; i != 5; ++i) CHECK(ekiden_test::take(queue.take()).number == i);
    CHECK(queue.take() == nullptr);
    CHECK(queue.try_rest());
    CHECK(tasks.taken_wrongly() == 0);
}

TEST_CASE("The first push after a rest, and only that, asks for a consumer") {
    serial_queue queue;
    numbered_tasks tasks(3);
    CHECK(queue.is_idle());
    CHECK(queue.push(tasks.at(0)));
    CHECK_FALSE(queue.is_idle());
    (void)queue.take();
    CHECK_FALSE(queue.push(tasks.at(1))); // the consumer is there still
    CHECK_FALSE(queue.try_rest());
    (void)queue.take();
    CHECK(queue.take() == nullptr);
    CHECK(queue.is_drained());
    CHECK(queue.try_rest());
    CHECK(queue.is_idle());
    CHECK(queue.push(tasks.at(2)));
    (void)queue.take();
}

TEST_CASE("A thread may become the consumer of an idle queue, and of no other") {
    serial_queue queue;
    numbered_tasks tasks(2);
    CHECK(queue.try_begin());
    CHECK_FALSE(queue.try_begin());
    CHECK_FALSE(queue.push(tasks.at(0)));
    CHECK(queue.take() == tasks.at(0));
    CHECK(queue.try_rest());
    CHECK(queue.push(tasks.at(1)));
    CHECK_FALSE(queue.try_begin());
    CHECK(queue.take() == tasks.at(1));
}

TEST_CASE("A task that was taken can be pushed again at once") {
    serial_queue queue;
    numbered_tasks tasks(2);
    (void)queue.push(tasks.at(0));
    for (int i = 0; i != 10; ++i) {
        (void)queue.push(tasks.at(1 - i % 2));
        CHECK(queue.take() == tasks.at(i % 2));
    }
    CHECK(queue.take() == tasks.at(0));
}

TEST_CASE("The end of a queue is found by its consumer, or says that there is none") {
    numbered_tasks tasks(2);
    serial_queue idle;
    CHECK(idle.end());

    serial_queue busy;
    (void)busy.push(tasks.at(0));
    (void)busy.push(tasks.at(1));
    CHECK_FALSE(busy.end());
    CHECK_FALSE(busy.has_ended());
    CHECK(busy.take() == tasks.at(0));
    CHECK_FALSE(busy.has_ended());
    CHECK(busy.take() == tasks.at(1));
    CHECK(busy.take() == nullptr);
    CHECK_FALSE(busy.try_rest());
    CHECK(busy.has_ended());

    serial_queue drained;
    CHECK(drained.try_begin());
    CHECK_FALSE(drained.end());
    CHECK_FALSE(drained.try_rest());
    CHECK(drained.has_ended());
}

TEST_CASE("Many producers and a consumer that changes: each task is taken once, each producer's in order") {
    constexpr int producers = 3;
    const int count = ekiden_test::rounds(200'000);
    serial_queue queue;
    std::deque<numbered_tasks> tasks;
    for (int p = 0; p != producers; ++p) tasks.emplace_back(count, p);
    int next[producers] = {}; // the consumer's
    std::atomic<int> wrong{0};
    const auto drain = [&] {
        do {
            while (task* const got = queue.take()) {
                const numbered_task& here = ekiden_test::take(got);
                if (here.number != next[here.producer]++) wrong.fetch_add(1);
            }
        } while (!queue.try_rest());
    };
    std::vector<std::thread> threads;
    for (int p = 0; p != producers; ++p) {
        threads.emplace_back([&, p] {
            for (int i = 0; i != count; ++i) {
                if (queue.push(tasks[static_cast<std::size_t>(p)].at(i))) drain();
            }
        });
    }
    for (std::thread& t : threads) t.join();
    CHECK(wrong.load() == 0);
    for (const numbered_tasks& of_one : tasks) CHECK(of_one.taken_wrongly() == 0);
    CHECK(queue.is_idle());
}
