#include <ekiden/queue/task_batch.hpp>

#include <tests/unit/effort.hpp>
#include <tests/unit/queue/numbered_tasks.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

using ekiden::task;
using ekiden::task_batch;
using ekiden_test::numbered_tasks;

TEST_CASE("A batch gives its tasks in their order, and can be filled again") {
    task_batch batch;
    CHECK_FALSE(batch.maybe_filled());
    CHECK(batch.take() == nullptr);
    for (const std::size_t count : {std::size_t{1}, std::size_t{5}, task_batch::most}) {
        numbered_tasks all(static_cast<int>(count));
        std::vector<task*> tasks;
        for (int i = 0; i != static_cast<int>(count); ++i) tasks.push_back(all.at(i));
        batch.fill(tasks);
        CHECK(batch.maybe_filled());
        for (task* const next : tasks) CHECK(batch.take() == next);
        CHECK(batch.take() == nullptr);
        CHECK_FALSE(batch.maybe_filled());
    }
}

TEST_CASE("Each task of a batch is taken once, whoever takes") {
    const int rounds = ekiden_test::rounds(20'000);
    constexpr int each = 7;
    numbered_tasks all(rounds * each);
    task_batch batch;
    std::atomic<bool> is_over{false};
    std::vector<std::thread> thieves;
    for (int t = 0; t != 2; ++t) {
        thieves.emplace_back([&] {
            while (!is_over.load()) {
                if (task* const stolen = batch.take()) ekiden_test::take(stolen);
            }
        });
    }
    for (int round = 0; round != rounds; ++round) {
        std::array<task*, each> next{};
        for (int i = 0; i != each; ++i) next[static_cast<std::size_t>(i)] = all.at(round * each + i);
        batch.fill(next);
        while (task* const own = batch.take()) ekiden_test::take(own);
    }
    is_over = true;
    for (std::thread& t : thieves) t.join();
    CHECK(all.taken_wrongly() == 0);
}
