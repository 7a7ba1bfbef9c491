// The ends of a pipeline that are not the end of the source: exceptions, stops, pools that stop, destruction.
#include <ekiden/flow/pipeline.hpp>

#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/loop/loop_context.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>

namespace {

using ekiden::any_order_stage;
using ekiden::coroutine;
using ekiden::in_order_stage;
using ekiden::parallel_stage;
using ekiden::pipeline;
using ekiden::thread_pool;

/// A value that counts how many of its kind exist.
struct counted {
    explicit counted(int n) : value(n) { ++alive; }
    counted(counted&& other) noexcept : value(other.value) { ++alive; }
    counted& operator=(counted&&) = delete;
    ~counted() { --alive; }

    int value;
    static inline std::atomic<int> alive = 0;
};

auto endless(int& next) {
    return [&next]() -> std::optional<counted> { return counted(next++); };
}

template <class Line>
std::string error_of(Line& line, thread_pool& pool) {
    try {
        (void)line.run(pool, {.in_flight = 8});
    } catch (const std::exception& error) {
        return error.what();
    }
    return "none";
}

} // namespace

TEST_CASE("an exception of any stage ends the run, is thrown, and destroys the items in flight") {
    thread_pool pool({.threads = 3});
    for (int thrower = 0; thrower != 5; ++thrower) {
        CAPTURE(thrower);
        int next = 0;
        const auto pass = [&](int stage) {
            return [thrower, stage](counted item) {
                if (stage == thrower && item.value == 30) throw std::runtime_error("stage failed");
                return item;
            };
        };
        pipeline line(in_order_stage([&]() -> std::optional<counted> {
                          if (thrower == 0 && next == 30) throw std::runtime_error("stage failed");
                          return counted(next++);
                      }),
                      in_order_stage(pass(1)), any_order_stage(pass(2)), parallel_stage(pass(3)),
                      in_order_stage(pass(4)));
        for (int round = 0; round != 3; ++round) { // a pipeline that has failed runs again
            next = 0;
            CHECK(error_of(line, pool) == "stage failed");
            CHECK(counted::alive == 0);
            CHECK_FALSE(line.stop_requested());
        }
    }
}

TEST_CASE("an exception in a serial stage destroys the items that later stages hold") {
    thread_pool pool({.threads = 3});
    for (const bool is_ordered : {true, false}) {
        CAPTURE(is_ordered);
        int next = 0;
        std::atomic<int> held = 0;
        std::atomic<int> last_calls = 0;
        int calls = 0;
        const auto fails = [&](counted item) {
            if (++calls != 3) return item;
            while (held != 2) std::this_thread::yield(); // the later stage holds two items
            throw std::runtime_error("stage failed");
        };
        const auto hold = [&](counted item, std::stop_token token) {
            ++held;
            while (!token.stop_requested()) std::this_thread::yield();
            return item;
        };
        const auto last = [&](counted) { ++last_calls; };
        const auto expect = [&](auto& line) {
            for (int round = 0; round != 3; ++round) {
                next = 0;
                held = 0;
                calls = 0;
                CHECK(error_of(line, pool) == "stage failed");
                CHECK(counted::alive == 0);
                CHECK(last_calls == 0);
            }
        };
        pipeline in_order(in_order_stage(endless(next)), in_order_stage(fails), parallel_stage(hold),
                          in_order_stage(last));
        pipeline any_order(in_order_stage(endless(next)), any_order_stage(fails), parallel_stage(hold),
                           any_order_stage(last));
        if (is_ordered)
            expect(in_order);
        else
            expect(any_order);
    }
}

TEST_CASE("an exception of a pipeline in a stage ends the outer pipeline, too") {
    for (const unsigned threads : {1U, 2U}) {
        thread_pool pool({.threads = threads});
        int next = 0;
        pipeline outer(in_order_stage(endless(next)), parallel_stage([&pool](counted item) {
                           int inner_next = 0;
                           pipeline inner(in_order_stage([&]() -> std::optional<counted> {
                                              if (inner_next == 5) return std::nullopt;
                                              return counted(inner_next++);
                                          }),
                                          any_order_stage([&](counted inside) {
                                              if (item.value == 3 && inside.value == 4)
                                                  throw std::runtime_error("inner stage failed");
                                          }));
                           (void)inner.run(pool);
                           return item;
                       }),
                       in_order_stage([](counted) {}));
        for (int round = 0; round != 3; ++round) {
            next = 0;
            CHECK(error_of(outer, pool) == "inner stage failed");
            CHECK(counted::alive == 0);
        }
    }
}

TEST_CASE("an exception of any stage that is a coroutine ends the run and is thrown") {
    thread_pool pool({.threads = 2});
    for (int thrower = 0; thrower != 3; ++thrower) {
        CAPTURE(thrower);
        int next = 0;
        const auto pass = [&](int stage) {
            return [thrower, stage](counted item) -> coroutine<counted> {
                co_await ekiden::yield();
                if (stage == thrower && item.value == 30) throw std::runtime_error("coroutine failed");
                co_return item;
            };
        };
        pipeline line(in_order_stage([&]() -> coroutine<std::optional<counted>> {
                          co_await ekiden::yield();
                          if (thrower == 0 && next == 30) throw std::runtime_error("coroutine failed");
                          co_return counted(next++);
                      }),
                      parallel_stage(pass(1)), in_order_stage(pass(2)));
        CHECK(error_of(line, pool) == "coroutine failed");
        CHECK(counted::alive == 0);
    }
}

TEST_CASE("a value whose move throws ends the run, and no value is lost or destroyed twice") {
    struct fragile {
        explicit fragile(int n) : value(n) { ++counted::alive; }
        fragile(fragile&& other) : value(other.value) {
            if (value == 7) throw std::runtime_error("cannot move");
            ++counted::alive;
        }
        fragile& operator=(fragile&&) = delete;
        ~fragile() { --counted::alive; }
        int value;
    };
    thread_pool pool({.threads = 2});
    int next = 0;
    pipeline in_source(in_order_stage([&]() -> std::optional<fragile> {
                           return std::optional<fragile>(std::in_place, next++);
                       }),
                       parallel_stage([](const fragile&) {}));
    CHECK(error_of(in_source, pool) == "cannot move");
    CHECK(counted::alive == 0);
    next = 0;
    pipeline in_call(in_order_stage([&]() -> std::optional<int> { return next++; }),
                     parallel_stage([](int n) { return fragile(n); }), in_order_stage([](fragile) {}));
    CHECK(error_of(in_call, pool) == "cannot move");
    CHECK(counted::alive == 0);
    next = 0;
    pipeline in_coroutine(in_order_stage([&]() -> std::optional<int> { return next++; }),
                          parallel_stage([](int n) -> coroutine<std::unique_ptr<fragile>> {
                              co_return std::make_unique<fragile>(n);
                          }),
                          in_order_stage([](std::unique_ptr<fragile> item) -> coroutine<> {
                              fragile own(std::move(*item));
                              co_return;
                          }));
    CHECK(error_of(in_coroutine, pool) == "cannot move");
    CHECK(counted::alive == 0);
}

TEST_CASE("the exceptions after the first one are the suppressed exceptions of run()") {
    thread_pool pool({.threads = 2});
    int next = 0;
    std::atomic<int> inside = 0;
    pipeline line(in_order_stage([&]() -> std::optional<int> { return next++; }), parallel_stage([&](int) {
                      ++inside;
                      while (inside < 2) std::this_thread::yield();
                      throw std::runtime_error("one of two");
                  }));
    CHECK(error_of(line, pool) == "one of two");
    CHECK(ekiden::suppressed_exceptions().size() == 1);
    pipeline whole(in_order_stage([]() -> std::optional<int> { return std::nullopt; }));
    CHECK(whole.run(pool));
    CHECK(ekiden::suppressed_exceptions().empty());
}

TEST_CASE("request_stop() ends a run in flight, and the pipeline can run again") {
    thread_pool pool({.threads = 2});
    int next = 0;
    pipeline<decltype(in_order_stage(endless(next))),
             decltype(any_order_stage(std::function<void(counted)>()))>* self = nullptr;
    pipeline line(in_order_stage(endless(next)),
                  any_order_stage(std::function<void(counted)>([&](counted item) {
                      if (item.value % 100 != 99) return;
                      CHECK(self->request_stop());
                      CHECK_FALSE(self->request_stop());
                  })));
    self = &line;
    CHECK_FALSE(line.request_stop()); // no run is in progress
    for (int round = 0; round != 20; ++round) {
        CHECK_FALSE(line.run(pool));
        CHECK(line.stop_requested());
        CHECK(counted::alive == 0);
    }
}

TEST_CASE("a stage that is a coroutine is not called after a stop") {
    ekiden::loop_context loop;
    std::stop_source stop;
    int next = 0;
    int calls = 0;
    pipeline line(in_order_stage(endless(next)), parallel_stage([&](counted) -> coroutine<> {
                      ++calls;
                      stop.request_stop();
                      co_return;
                  }));
    auto result = line.start(loop.get_executor(), {.in_flight = 8, .stop = stop.get_token()});
    loop.run();
    CHECK_FALSE(result.get());
    CHECK(calls == 1);
    CHECK(counted::alive == 0);
}

TEST_CASE("a stop token in the options ends the run, before and during the run") {
    thread_pool pool({.threads = 2});
    int next = 0;
    std::stop_source source;
    pipeline line(in_order_stage(endless(next)), parallel_stage([&](counted item) {
                      if (item.value == 500) source.request_stop();
                  }));
    CHECK_FALSE(line.run(pool, {.stop = source.get_token()}));
    CHECK(next > 500);
    const int before = next;
    CHECK_FALSE(line.run(pool, {.stop = source.get_token()})); // was requested before
    CHECK(next == before);
    CHECK(counted::alive == 0);
}

TEST_CASE("a stop wakes a stage that waits: by its stop token, or by the stop of its coroutine") {
    using namespace std::chrono_literals;
    thread_pool pool({.threads = 2});
    std::atomic<int> waiting = 0;
    int next = 0;
    pipeline by_token(in_order_stage([&]() -> std::optional<int> { return next++; }),
                      in_order_stage([&](int, std::stop_token token) {
                          ++waiting;
                          while (!token.stop_requested()) std::this_thread::yield();
                      }));
    auto first = by_token.start(pool);
    while (waiting == 0) std::this_thread::yield();
    CHECK(by_token.request_stop());
    CHECK_FALSE(first.get());

    waiting = 0;
    pipeline by_coroutine(in_order_stage([&](std::stop_token) -> std::optional<int> { return next++; }),
                          parallel_stage([&](int) -> coroutine<> {
                              ++waiting;
                              co_await ekiden::sleep_for(1h);
                          }));
    auto second = by_coroutine.start(pool);
    while (waiting == 0) std::this_thread::yield();
    CHECK(by_coroutine.request_stop());
    CHECK_FALSE(second.get()); // the operation_canceled of the coroutine is no error
}

TEST_CASE("an exception wakes a stage that waits") {
    thread_pool pool({.threads = 2});
    int next = 0;
    std::atomic<bool> is_waiting = false;
    pipeline line(in_order_stage([&]() -> std::optional<int> { return next++; }),
                  parallel_stage([&](int item, std::stop_token token) {
                      if (item != 0) {
                          while (!is_waiting) std::this_thread::yield();
                          throw std::runtime_error("the other one");
                      }
                      is_waiting = true;
                      while (!token.stop_requested()) std::this_thread::yield();
                  }));
    CHECK(error_of(line, pool) == "the other one");
}

TEST_CASE("a second start is refused while a run is in progress") {
    thread_pool pool({.threads = 2});
    int next = 0;
    std::atomic<bool> may_end = false;
    pipeline line(in_order_stage([&]() -> std::optional<int> {
        while (!may_end) std::this_thread::yield();
        if (next == 10) return std::nullopt;
        return next++;
    }));
    auto first = line.start(pool);
    std::error_code code;
    std::string message;
    try {
        (void)line.start(pool);
    } catch (const std::system_error& error) {
        code = error.code();
        message = error.what();
    }
    CHECK(code == std::errc::device_or_resource_busy);
    CHECK(message.find("pipeline: a run is in progress") != std::string::npos);
    may_end = true;
    CHECK(first.get());
    CHECK(line.run(pool));
}

TEST_CASE("the destructor stops a run in progress and waits for it") {
    thread_pool pool({.threads = 2});
    for (int round = 0; round != 50; ++round) {
        int next = 0;
        ekiden::future<bool> result;
        std::atomic<bool> has_begun = false;
        {
            pipeline line(in_order_stage(endless(next)), parallel_stage([&](counted item) {
                              has_begun = true;
                              return item;
                          }),
                          in_order_stage([](counted) {}));
            result = line.start(pool);
            while (!has_begun) std::this_thread::yield();
        }
        CHECK_FALSE(result.get());
        CHECK(counted::alive == 0);
    }
}

TEST_CASE("a pipeline may be destroyed as soon as its future is ready") {
    thread_pool pool({.threads = 2});
    for (int round = 0; round != 300; ++round) {
        int next = 0;
        auto line = std::make_unique<pipeline<decltype(in_order_stage(std::function<std::optional<int>()>())),
                                              decltype(parallel_stage(std::function<void(int)>()))>>(
            in_order_stage(std::function<std::optional<int>()>([&]() -> std::optional<int> {
                if (next == 5) return std::nullopt;
                return next++;
            })),
            parallel_stage(std::function<void(int)>([](int) {})));
        auto result = line->start(pool);
        while (!result.is_ready()) std::this_thread::yield();
        line.reset();
        CHECK(result.get());
    }
}

TEST_CASE("a pool that stops ends the run, and run() reports it") {
    for (int round = 0; round != 20; ++round) {
        int next = 0;
        thread_pool pool({.threads = 2});
        std::atomic<int> calls = 0;
        pipeline line(in_order_stage(endless(next)), parallel_stage([](counted item) -> coroutine<counted> {
                          co_await ekiden::yield();
                          co_return item;
                      }),
                      in_order_stage([&](counted) {
                          if (++calls == 100) pool.stop();
                      }));
        CHECK_THROWS_AS((void)line.run(pool, {.in_flight = 10}), std::system_error);
        pool.join();
        CHECK(counted::alive == 0);
        CHECK_THROWS_AS((void)line.run(pool), std::system_error); // the pool accepts no task
    }
}
