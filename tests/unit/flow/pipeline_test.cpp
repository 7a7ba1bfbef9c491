#include <ekiden/flow/pipeline.hpp>

#include <ekiden/async/await_future.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/flow/task_graph.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/default_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace {

using ekiden::any_order_stage;
using ekiden::coroutine;
using ekiden::in_order_stage;
using ekiden::parallel_stage;
using ekiden::pipeline;
using ekiden::thread_pool;

/// A source of the numbers from 0 to count - 1.
auto numbers(int& next, int count) {
    return [&next, count]() -> std::optional<int> {
        if (next == count) return std::nullopt;
        return next++;
    };
}

/// Counts how many calls are in progress, and remembers the largest number.
class meter {
public:
    void enter() {
        const int now = ++inside_;
        int most = most_;
        while (now > most && !most_.compare_exchange_weak(most, now)) {
        }
    }
    void leave() { --inside_; }
    [[nodiscard]] int most() const { return most_; }
    [[nodiscard]] int inside() const { return inside_; }

private:
    std::atomic<int> inside_ = 0;
    std::atomic<int> most_ = 0;
};

/// Makes the durations of calls different.
void work(int item) {
    for (int i = 0; i < item * 7919 % 13; ++i) std::this_thread::yield();
}

constexpr int many = 2000;

} // namespace

TEST_CASE("an in-order stage gets the items in the order of the source, one at a time") {
    thread_pool pool({.threads = 4});
    int next = 0;
    std::vector<int> first;
    std::vector<int> second;
    meter inside;
    pipeline line(in_order_stage(numbers(next, many)), parallel_stage([](int item) {
                      work(item);
                      return item;
                  }),
                  in_order_stage([&](int item) {
                      inside.enter();
                      first.push_back(item);
                      inside.leave();
                      return item;
                  }),
                  parallel_stage([](int item) {
                      work(item + 1);
                      return item;
                  }),
                  in_order_stage([&](int item) { second.push_back(item); }));
    CHECK(line.run(pool, {.in_flight = 7}));
    REQUIRE(first.size() == many);
    for (int i = 0; i != many; ++i) REQUIRE(first[static_cast<std::size_t>(i)] == i);
    CHECK(first == second);
    CHECK(inside.most() == 1);
}

TEST_CASE("an any-order stage gets each item once, one at a time") {
    thread_pool pool({.threads = 4});
    int next = 0;
    std::vector<int> seen(many);
    meter inside;
    pipeline line(in_order_stage(numbers(next, many)), parallel_stage([](int item) {
                      work(item);
                      return item;
                  }),
                  any_order_stage([&](int item) {
                      inside.enter();
                      ++seen[static_cast<std::size_t>(item)];
                      inside.leave();
                  }));
    CHECK(line.run(pool));
    CHECK(inside.most() == 1);
    CHECK(seen == std::vector<int>(many, 1));
}

TEST_CASE("an any-order stage does not wait for an earlier item, and an in-order stage does") {
    thread_pool pool({.threads = 2});
    int next = 0;
    std::atomic<bool> has_second = false;
    std::vector<int> seen;
    pipeline line(in_order_stage(numbers(next, 2)), parallel_stage([&](int item) {
                      while (item == 0 && !has_second) std::this_thread::yield();
                      return item;
                  }),
                  any_order_stage([&](int item) {
                      seen.push_back(item);
                      if (item == 1) has_second = true;
                      return item;
                  }),
                  in_order_stage([&](int item) { seen.push_back(item + 10); }));
    CHECK(line.run(pool));
    CHECK(seen == std::vector<int>{1, 0, 10, 11});
}

TEST_CASE("a parallel stage handles several items at once") {
    thread_pool pool({.threads = 2});
    int next = 0;
    meter inside;
    pipeline line(in_order_stage(numbers(next, 2)), parallel_stage([&](int) {
                      inside.enter();
                      while (inside.most() < 2) std::this_thread::yield();
                      inside.leave();
                  }));
    CHECK(line.run(pool));
    CHECK(inside.most() == 2);
}

TEST_CASE("the source does not stop while a stage is busy, until the bound is reached") {
    thread_pool pool({.threads = 2});
    int next = 0;
    std::atomic<int> made = 0;
    pipeline line(in_order_stage([&]() -> std::optional<int> {
                      if (next == 20) return std::nullopt;
                      ++made;
                      return next++;
                  }),
                  in_order_stage([&](int item) {
                      while (item == 0 && made != 5) std::this_thread::yield();
                  }));
    CHECK(line.run(pool, {.in_flight = 5}));
    CHECK(made == 20);
}

TEST_CASE("the number of items in flight never exceeds the bound") {
    thread_pool pool({.threads = 4});
    for (const std::size_t bound : {1U, 2U, 3U, 8U}) {
        int next = 0;
        meter in_flight;
        pipeline line(in_order_stage([&]() -> std::optional<int> {
                          if (next == many) return std::nullopt;
                          in_flight.enter();
                          return next++;
                      }),
                      parallel_stage([](int item) {
                          work(item);
                          return item;
                      }),
                      any_order_stage([](int item) { return item; }), parallel_stage([&](int item) {
                          work(item);
                          in_flight.leave();
                      }));
        CHECK(line.run(pool, {.in_flight = bound}));
        CHECK(in_flight.most() <= static_cast<int>(bound));
        CHECK(in_flight.inside() == 0);
    }
}

TEST_CASE("a run without items, a run of one item, and a pipeline of the source alone") {
    thread_pool pool({.threads = 2});
    int next = 0;
    int calls = 0;
    pipeline none(in_order_stage([]() -> std::optional<int> { return std::nullopt; }),
                  in_order_stage([&](int) { ++calls; }));
    CHECK(none.run(pool));
    CHECK(calls == 0);
    pipeline one(in_order_stage(numbers(next, 1)), in_order_stage([&](int) { ++calls; }));
    CHECK(one.run(pool));
    CHECK(calls == 1);
    int alone = 0;
    pipeline source_only(in_order_stage([&]() -> std::optional<std::string> {
        if (++alone == 100) return std::nullopt;
        return std::string(100, 'x');
    }));
    CHECK(source_only.run(pool));
    CHECK(alone == 100);
}

TEST_CASE("a pipeline runs again, with another bound and in another pool") {
    thread_pool pool({.threads = 2});
    thread_pool other({.threads = 1});
    int next = 0;
    std::vector<int> seen;
    pipeline line(in_order_stage(numbers(next, 100)), parallel_stage([](int item) { return item; }),
                  in_order_stage([&](int item) { seen.push_back(item); }));
    for (const std::size_t bound : {0U, 0U, 1U, 5U, 5U, 64U, 0U}) {
        next = 0;
        seen.clear();
        CHECK(line.run(bound == 5 ? other : pool, {.in_flight = bound}));
        REQUIRE(seen.size() == 100);
        for (int i = 0; i != 100; ++i) CHECK(seen[static_cast<std::size_t>(i)] == i);
    }
}

TEST_CASE("the stages of a pipeline may pass objects that can only be moved, or not even that") {
    struct fixed {
        explicit fixed(int n) : value(n) {}
        fixed(const fixed&) = delete;
        fixed& operator=(const fixed&) = delete;
        int value;
    };
    thread_pool pool({.threads = 2});
    int next = 0;
    int sum = 0;
    pipeline line(in_order_stage([&]() -> std::optional<std::unique_ptr<int>> {
                      if (next == 100) return std::nullopt;
                      return std::make_unique<int>(next++);
                  }),
                  parallel_stage([only = std::make_unique<int>(1)](std::unique_ptr<int> item) {
                      return fixed(*item + *only);
                  }),
                  any_order_stage([&](const fixed& item) { sum += item.value; }));
    CHECK(line.run(pool));
    CHECK(sum == 5050);
}

TEST_CASE("an overaligned value is aligned in each stage") {
    struct alignas(256) wide {
        int value = 0;
    };
    thread_pool pool({.threads = 2});
    int next = 0;
    std::atomic<int> misaligned = 0;
    const auto check = [&](const wide& item) {
        if (reinterpret_cast<std::uintptr_t>(&item) % 256 != 0) ++misaligned;
    };
    pipeline line(in_order_stage([&]() -> std::optional<wide> {
                      if (next == 50) return std::nullopt;
                      return wide{next++};
                  }),
                  parallel_stage([&](wide&& item) {
                      check(item);
                      return wide{item.value};
                  }),
                  in_order_stage([&](const wide& item) { check(item); }));
    CHECK(line.run(pool));
    CHECK(misaligned == 0);
}

TEST_CASE("each stage of a pipeline may be a coroutine, and keeps its order") {
    thread_pool pool({.threads = 2});
    int next = 0;
    std::vector<int> arrived;
    std::vector<int> seen;
    meter inside;
    pipeline line(in_order_stage([&]() -> coroutine<std::optional<int>> {
                      co_await ekiden::yield();
                      if (next == 300) co_return std::nullopt;
                      co_return next++;
                  }),
                  parallel_stage([](int item) -> coroutine<int> {
                      for (int i = 0; i != item % 3; ++i) co_await ekiden::yield();
                      co_return item;
                  }),
                  any_order_stage([&](int item) -> coroutine<int> {
                      inside.enter();
                      co_await ekiden::yield();
                      arrived.push_back(item);
                      inside.leave();
                      co_return item;
                  }),
                  in_order_stage([&](const int& item) -> coroutine<> {
                      co_await ekiden::yield();
                      seen.push_back(item);
                  }));
    CHECK(line.run(pool, {.in_flight = 6}));
    CHECK(inside.most() == 1);
    CHECK(arrived.size() == 300);
    REQUIRE(seen.size() == 300);
    for (int i = 0; i != 300; ++i) CHECK(seen[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a coroutine stage may wait for another pipeline, and blocks no thread") {
    thread_pool pool({.threads = 1});
    int next = 0;
    std::atomic<int> calls = 0;
    pipeline outer(in_order_stage(numbers(next, 10)), parallel_stage([&](int item) -> coroutine<> {
                       int inner_next = 0;
                       pipeline inner(in_order_stage(numbers(inner_next, item)),
                                      parallel_stage([&](int) { ++calls; }));
                       const bool is_whole = co_await inner.start(pool);
                       if (!is_whole) throw std::logic_error("stopped");
                   }));
    CHECK(outer.run(pool));
    CHECK(calls == 45);
}

TEST_CASE("a stage may run another pipeline in a pool with one thread") {
    thread_pool pool({.threads = 1});
    int next = 0;
    std::atomic<int> calls = 0;
    pipeline outer(in_order_stage(numbers(next, 10)), parallel_stage([&](int item) {
                       int inner_next = 0;
                       pipeline inner(in_order_stage(numbers(inner_next, item)),
                                      parallel_stage([&](int) { ++calls; }));
                       inner.run();
                   }));
    CHECK(pool.submit([&] { return outer.run(); }).get());
    CHECK(calls == 45);
}

TEST_CASE("a run that is started without a pool uses the pool of the calling thread") {
    thread_pool pool({.threads = 1});
    int next = 0;
    bool is_inside = true;
    pipeline line(in_order_stage(numbers(next, 5)),
                  in_order_stage([&](int) { is_inside = is_inside && &ekiden::this_pool() == &pool; }));
    ekiden::task_graph graph;
    graph.add("one", [&] { is_inside = is_inside && &ekiden::this_pool() == &pool; });
    CHECK(pool.submit([&] { return line.start().get() && graph.start().get(); }).get());
    CHECK(next == 5);
    CHECK(is_inside);
    CHECK(line.start({.in_flight = 2}).get()); // in the default pool
    CHECK(graph.start({.stop = std::stop_token()}).get());
    CHECK_FALSE(is_inside);
}

TEST_CASE("a pipeline runs on any executor, and one thread of a loop is enough") {
    ekiden::loop_context loop;
    int next = 0;
    std::vector<int> seen;
    pipeline line(in_order_stage(numbers(next, 50)), parallel_stage([](int item) { return item; }),
                  in_order_stage([&](int item) { seen.push_back(item); }));
    auto result = line.start(loop.get_executor(), {.in_flight = 4});
    loop.run();
    CHECK(result.get());
    CHECK(seen.size() == 50);
    auto on_strand = line.start(ekiden::strand<ekiden::any_executor>(loop.get_executor()));
    loop.restart();
    loop.run();
    CHECK(on_strand.get());
}

TEST_CASE("a stage that is a coroutine may move to another executor and come back") {
    thread_pool pool({.threads = 2});
    thread_pool other({.threads = 1});
    int next = 0;
    std::atomic<int> elsewhere = 0;
    std::atomic<int> back = 0;
    pipeline line(in_order_stage(numbers(next, 50)), parallel_stage([&](int item) -> coroutine<int> {
                      co_await ekiden::resume_on(other.get_executor());
                      if (other.running_in_this_thread()) ++elsewhere;
                      co_return item;
                  }),
                  in_order_stage([&](int) {
                      if (pool.running_in_this_thread()) ++back;
                  }));
    CHECK(line.run(pool));
    CHECK(elsewhere == 50);
    CHECK(back == 50);
}

TEST_CASE("what a serial stage does for an item is visible to its call for the next item") {
    thread_pool pool({.threads = 4});
    int next = 0;
    long in_order = 0; // not atomic
    long any_order = 0;
    const auto count = [](long& sum) {
        return [&sum](int item) {
            sum += item;
            return item;
        };
    };
    pipeline line(in_order_stage(numbers(next, many)), in_order_stage(count(in_order)),
                  any_order_stage(count(any_order)));
    CHECK(line.run(pool, {.in_flight = 16}));
    CHECK(in_order == static_cast<long>(many) * (many - 1) / 2);
    CHECK(any_order == in_order);
}

TEST_CASE("a bound of items that is out of range is refused, and the message names the limits") {
    thread_pool pool({.threads = 1});
    pipeline line(in_order_stage([]() -> std::optional<int> { return std::nullopt; }));
    std::string message;
    try {
        line.run(pool, {.in_flight = ekiden::pipeline_options::most_in_flight + 1});
    } catch (const std::invalid_argument& error) {
        message = error.what();
    }
    CHECK(message == "pipeline: in_flight is 16777217, allowed is 0 to 16777216");
    CHECK(line.run(pool));
}
