#include <lab/experiments/lanes/keys.hpp>
#include <lab/experiments/lanes/lanes.hpp>
#include <lab/tests/failure_of.hpp>

#include <doctest/doctest.h>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

namespace {

using lab::lanes::make_orders;

std::vector<std::size_t> times_of_keys(bool zipf) {
    std::vector<std::size_t> times(100);
    for (const auto& list : make_orders(100, zipf, 4, 100'000))
        for (const lab::lanes::order& o : list) ++times.at(o.key);
    std::sort(times.rbegin(), times.rend());
    return times;
}

} // namespace

TEST_CASE("each producer numbers its tasks of a key from 0, and all tasks are there") {
    const auto orders = make_orders(50, true, 3, 3'000);
    REQUIRE(orders.size() == 3);
    for (const auto& list : orders) {
        CHECK(list.size() == 1'000);
        std::map<std::uint32_t, std::uint32_t> next;
        for (const lab::lanes::order& o : list) CHECK(o.turn == next[o.key]++);
    }
}

TEST_CASE("uniform keys come about equally often") {
    const auto times = times_of_keys(false);
    CHECK(times.front() < 1'200);
    CHECK(times.back() > 800);
}

TEST_CASE("after Zipf's law the second key comes about half as often as the first, and every key comes") {
    const auto times = times_of_keys(true);
    CHECK(static_cast<double>(times[0]) / static_cast<double>(times[1])
          == doctest::Approx(1.99).epsilon(0.1));
    CHECK(static_cast<double>(times[0]) / static_cast<double>(times[9])
          == doctest::Approx(9.77).epsilon(0.1));
    CHECK(times.back() > 0);
    CHECK(std::accumulate(times.begin(), times.end(), std::size_t{0}) == 100'000);
}

TEST_CASE("the ledger of keys sees tasks out of order and tasks that overlap") {
    lab::lanes::ledger book(2, 2);
    book.arrive(1, 0, 0);
    book.arrive(1, 1, 0);
    book.arrive(1, 0, 1);
    CHECK(book.out_of_order() == 0);
    book.arrive(0, 0, 1);
    CHECK(book.out_of_order() == 1);
    book.enter(0);
    book.enter(1);
    book.leave(0);
    book.enter(0);
    CHECK(book.overlaps() == 0);
    book.enter(1);
    CHECK(book.overlaps() == 1);
}

TEST_CASE("a tally counts over threads that have ended") {
    const std::string failure = lab::failure_of([](const lab::cell& c) {
        lab::tally& all = lab::tally::instance();
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&all] {
                for (int i = 0; i < 1'000; ++i) all.hit();
            });
        all.wait(c, 3'000);
        for (std::thread& t : threads) t.join();
        all.check(c, 3'000);
    });
    CHECK(failure.empty());
}

TEST_CASE("a figure that is no number fails the cell, with its name") {
    const double sections = 0;
    CHECK(lab::failure_of([sections](const lab::cell& c) {
              c.report({.used = {}, .figures = {{"ns", 1 / sections}}, .series = {}});
          })
          == "the figure ns is no number: inf");
}

TEST_CASE("a tally fails the cell when a task is lost or runs twice") {
    CHECK(lab::failure_of([](const lab::cell& c) {
              lab::tally::instance().hit();
              lab::tally::instance().wait(c, 2);
          })
          == "1 tasks ran where 2 were posted");
    CHECK(lab::failure_of([](const lab::cell& c) {
              lab::tally::instance().hit();
              lab::tally::instance().hit();
              lab::tally::instance().wait(c, 1);
          })
          == "2 tasks ran where 1 were posted");
}
