// The ends of a run of a task_graph that are not its usual end: exceptions, stops, pools that stop,
// destruction.
#include <ekiden/flow/task_graph.hpp>

#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/loop/loop_context.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using ekiden::coroutine;
using ekiden::task_graph;
using ekiden::thread_pool;

/// Builds a loop without an end.
void add_endless_loop(task_graph& graph, std::atomic<int>& calls) {
    auto begin = graph.add([] {});
    auto body = graph.add([&calls] { ++calls; });
    auto again = graph.add_condition([] { return 0; });
    begin.precede(body);
    body.precede(again);
    again.precede(body);
}

} // namespace

TEST_CASE("an exception of any node ends the run, is thrown, and the graph can run again") {
    thread_pool pool({.threads = 2});
    for (const bool with_condition : {false, true}) {
        for (int thrower = 0; thrower != 6; ++thrower) {
            CAPTURE(thrower);
            int failing = thrower;
            std::atomic<int> calls = 0;
            task_graph graph;
            std::vector<task_graph::node> nodes;
            for (int i = 0; i != 6; ++i) {
                nodes.push_back(graph.add([&, i] {
                    if (i == failing) throw std::runtime_error("node failed");
                    ++calls;
                }));
            }
            nodes[0].precede(nodes[1], nodes[2], nodes[3]);
            nodes[4].succeed(nodes[1], nodes[2], nodes[3]).precede(nodes[5]);
            if (with_condition) nodes[5].precede(graph.add_condition([] { return 0; }));
            for (int round = 0; round != 3; ++round) {
                calls = 0;
                failing = thrower;
                CHECK_THROWS_WITH_AS((void)graph.run(pool), "node failed", std::runtime_error);
                CHECK(calls < 6);
                if (thrower == 0) CHECK(calls == 0); // no node after it has begun
                CHECK_FALSE(graph.stop_requested());
                calls = 0;
                failing = -1;
                CHECK(graph.run(pool));
                CHECK(calls == 6);
            }
        }
    }
}

TEST_CASE("an exception of a node that is a coroutine, or of a condition, ends the run and is thrown") {
    thread_pool pool({.threads = 1});
    bool fails = true;
    int calls = 0;
    task_graph graph;
    auto first = graph.add([&]() -> coroutine<> {
        co_await ekiden::yield();
        if (fails) throw std::runtime_error("coroutine failed");
    });
    auto second = graph.add_condition([&]() -> int { throw std::runtime_error("condition failed"); });
    first.precede(second);
    second.precede(graph.add([&] { ++calls; }));
    CHECK_THROWS_WITH_AS((void)graph.run(pool), "coroutine failed", std::runtime_error);
    fails = false;
    CHECK_THROWS_WITH_AS((void)graph.run(pool), "condition failed", std::runtime_error);
    CHECK(calls == 0);
}

TEST_CASE("the exceptions after the first one are the suppressed exceptions of run() of a graph") {
    thread_pool pool({.threads = 2});
    std::atomic<int> inside = 0;
    task_graph graph;
    for (int i = 0; i != 2; ++i) {
        graph.add([&] {
            ++inside;
            while (inside < 2) std::this_thread::yield();
            throw std::runtime_error("one of two");
        });
    }
    CHECK_THROWS_AS((void)graph.run(pool), std::runtime_error);
    CHECK(ekiden::suppressed_exceptions().size() == 1);
}

TEST_CASE("an exception wakes a node that waits for its stop token") {
    thread_pool pool({.threads = 2});
    std::atomic<bool> is_waiting = false;
    task_graph graph;
    graph.add([&](std::stop_token token) {
        is_waiting = true;
        while (!token.stop_requested()) std::this_thread::yield();
    });
    graph.add([&] {
        while (!is_waiting) std::this_thread::yield();
        throw std::runtime_error("the other one");
    });
    CHECK_THROWS_WITH_AS((void)graph.run(pool), "the other one", std::runtime_error);
}

TEST_CASE("request_stop() ends a loop without end, and the graph can run again") {
    thread_pool pool({.threads = 2});
    std::atomic<int> calls = 0;
    task_graph graph;
    add_endless_loop(graph, calls);
    CHECK_FALSE(graph.request_stop()); // no run is in progress
    for (int round = 0; round != 20; ++round) {
        calls = 0;
        auto result = graph.start(pool);
        while (calls < 100) std::this_thread::yield();
        CHECK(graph.request_stop());
        CHECK_FALSE(graph.request_stop());
        CHECK_FALSE(result.get());
        CHECK(graph.stop_requested());
    }
}

TEST_CASE("a graph that is stopped while a condition runs begins no successor of the condition") {
    thread_pool pool({.threads = 2});
    for (const bool is_coroutine : {false, true}) {
        CAPTURE(is_coroutine);
        std::atomic<bool> is_inside = false;
        std::atomic<bool> waits = true;
        std::atomic<int> calls = 0;
        const auto wait = [&] {
            is_inside = true;
            while (waits) std::this_thread::yield();
        };
        task_graph graph;
        auto chooses = is_coroutine ? graph.add_condition([&]() -> coroutine<int> {
            co_await ekiden::yield();
            wait();
            co_return 1;
        })
                                    : graph.add_condition([&] {
                                          wait();
                                          return 1;
                                      });
        graph.add([] {}).precede(chooses);
        chooses.precede(graph.add([&] { calls += 100; }), graph.add([&] { ++calls; }));
        auto result = graph.start(pool);
        while (!is_inside) std::this_thread::yield();
        CHECK(graph.request_stop());
        waits = false;
        CHECK_FALSE(result.get());
        CHECK(calls == 0);
        CHECK(graph.run(pool));
        CHECK(calls == 1);
    }
}

TEST_CASE("a stop token in the options ends a run of a graph, before and during the run") {
    thread_pool pool({.threads = 2});
    for (const bool with_condition : {false, true}) {
        std::stop_source source;
        std::atomic<int> calls = 0;
        task_graph graph;
        auto stop = graph.add([&] { source.request_stop(); });
        auto after = graph.add([&] { ++calls; });
        stop.precede(after);
        after.precede(graph.add([&] { ++calls; }), graph.add([&] { ++calls; }));
        for (int i = 0; i != 3; ++i) graph.add([] {}).precede(after);
        if (with_condition) after.precede(graph.add_condition([] { return 0; }));
        CHECK_FALSE(graph.run(pool, {.stop = source.get_token()}));
        CHECK_FALSE(graph.run(pool, {.stop = source.get_token()})); // was requested before
        CHECK(calls == 0);
        CHECK(graph.run(pool));
        CHECK(calls == 3);
    }
}

TEST_CASE("a stop wakes a node that is a coroutine") {
    using namespace std::chrono_literals;
    thread_pool pool({.threads = 1});
    std::atomic<bool> is_waiting = false;
    task_graph graph;
    graph.add([&]() -> coroutine<> {
        is_waiting = true;
        co_await ekiden::sleep_for(1h);
    });
    auto result = graph.start(pool);
    while (!is_waiting) std::this_thread::yield();
    CHECK(graph.request_stop());
    CHECK_FALSE(result.get());
}

TEST_CASE("a node that is a coroutine is not called after a stop or an exception") {
    for (const bool throws : {false, true}) {
        ekiden::loop_context loop;
        int calls = 0;
        task_graph graph;
        for (int i = 0; i != 4; ++i) {
            graph.add([&]() -> coroutine<> {
                ++calls;
                if (throws) throw std::runtime_error("failed");
                (void)graph.request_stop();
                co_return;
            });
        }
        auto result = graph.start(loop.get_executor());
        loop.run();
        if (throws)
            CHECK_THROWS_AS(result.get(), std::runtime_error);
        else
            CHECK_FALSE(result.get());
        CHECK(calls == 1);
    }
}

TEST_CASE("a second start and a change are refused while a run is in progress") {
    thread_pool pool({.threads = 2});
    std::atomic<bool> may_end = false;
    task_graph graph;
    auto node = graph.add([&] {
        while (!may_end) std::this_thread::yield();
    });
    auto first = graph.start(pool);
    const auto code_of = [](auto call) {
        try {
            call();
        } catch (const std::system_error& error) {
            CHECK(std::string(error.what()).find("task_graph: a run is in progress") != std::string::npos);
            return error.code();
        }
        return std::error_code();
    };
    CHECK(code_of([&] { (void)graph.start(pool); }) == std::errc::device_or_resource_busy);
    CHECK(code_of([&] { (void)graph.run(pool); }) == std::errc::device_or_resource_busy);
    CHECK(code_of([&] { graph.add([] {}); }) == std::errc::device_or_resource_busy);
    CHECK(code_of([&] { node.precede(node); }) == std::errc::device_or_resource_busy);
    may_end = true;
    CHECK(first.get());
    CHECK(graph.size() == 1);
    CHECK(graph.run(pool));
}

TEST_CASE("the destructor of a graph stops a run in progress and waits for it") {
    thread_pool pool({.threads = 2});
    for (int round = 0; round != 50; ++round) {
        std::atomic<int> calls = 0;
        ekiden::future<bool> result;
        {
            task_graph graph;
            add_endless_loop(graph, calls);
            result = graph.start(pool);
            while (calls == 0) std::this_thread::yield();
        }
        CHECK_FALSE(result.get());
    }
}

TEST_CASE("a graph may be destroyed as soon as its future is ready") {
    thread_pool pool({.threads = 2});
    for (const bool with_condition : {false, true}) {
        for (int round = 0; round != 300; ++round) {
            auto graph = std::make_unique<task_graph>();
            auto first = graph->add([] {});
            first.precede(graph->add([] {}), graph->add([] {}), graph->add([] {}));
            if (with_condition)
                graph->add_condition([] { return 0; }).succeed(first).precede(graph->add([] {}));
            auto result = graph->start(pool);
            while (!result.is_ready()) std::this_thread::yield();
            graph.reset();
            CHECK(result.get());
        }
    }
}

TEST_CASE("a pool that stops ends the run of a graph, and run() reports it") {
    for (int round = 0; round != 20; ++round) {
        thread_pool pool({.threads = 2});
        std::atomic<int> calls = 0;
        task_graph graph;
        auto stop = graph.add([&] { pool.stop(); });
        for (int i = 0; i != 20; ++i) {
            stop.precede(graph.add([&]() -> coroutine<> {
                co_await ekiden::yield();
                ++calls;
            }));
        }
        CHECK_THROWS_AS((void)graph.run(pool), std::system_error);
        pool.join();
        CHECK(calls == 0);
        CHECK_THROWS_AS((void)graph.run(pool), std::system_error); // the pool accepts no task
    }
}

TEST_CASE("a wide graph runs each node once, and ends early by a stop, an exception or the end of the pool") {
    constexpr int width = 300; // nodes that become ready at once, so they are given away in trees
    for (const bool with_condition : {false, true}) {
        CAPTURE(with_condition);
        auto pool = std::make_unique<thread_pool>(thread_pool::options{.threads = 3});
        std::vector<std::atomic<int>> calls(width);
        std::atomic<int> ended = 0;
        enum class event { none, stop, exception, pool_stops } next = event::none;
        task_graph graph;
        auto first = graph.add([] {});
        auto last = graph.add([] {});
        if (with_condition) last.precede(graph.add_condition([] { return 0; }));
        for (int i = 0; i != width; ++i) {
            auto node = graph.add([&, i] {
                ++calls[static_cast<std::size_t>(i)];
                if (++ended != width / 2) return;
                if (next == event::stop) graph.request_stop();
                if (next == event::exception) throw std::runtime_error("a node failed");
                if (next == event::pool_stops) pool->stop();
            });
            if (i % 3 != 0) first.precede(node); // the others are roots
            last.succeed(node);
        }
        for (int round = 0; round != 20; ++round) {
            for (const event chosen : {event::none, event::stop, event::exception, event::none}) {
                next = chosen;
                ended = 0;
                for (auto& count : calls) count = 0;
                if (chosen == event::exception)
                    CHECK_THROWS_AS((void)graph.run(*pool), std::runtime_error);
                else
                    CHECK(graph.run(*pool) == (chosen == event::none));
                const int least = chosen == event::none ? 1 : 0;
                for (auto& count : calls) REQUIRE((count >= least && count <= 1));
            }
        }
        next = event::pool_stops;
        ended = 0;
        for (auto& count : calls) count = 0;
        CHECK_THROWS_AS((void)graph.run(*pool), std::system_error);
        pool->join();
        for (auto& count : calls) CHECK(count <= 1);
    }
}
