#include <ekiden/flow/task_graph.hpp>

#include <ekiden/async/await_future.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/loop/loop_context.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using ekiden::coroutine;
using ekiden::task_graph;
using ekiden::thread_pool;

std::string refusal_of(task_graph& graph, thread_pool& pool) {
    try {
        (void)graph.run(pool);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "none";
}

} // namespace

TEST_CASE("a node begins when all nodes before it have ended, in each run") {
    thread_pool pool({.threads = 4});
    constexpr std::size_t side = 16;
    std::vector<int> value(side * side); // not atomic: the edges order the accesses
    task_graph graph;
    std::vector<task_graph::node> nodes;
    for (std::size_t i = 0; i != side * side; ++i) {
        nodes.push_back(graph.add([&value, i] {
            const int above = i < side ? 0 : value[i - side];
            const int left = i % side == 0 ? 0 : value[i - 1];
            value[i] = 1 + std::max(above, left);
        }));
        if (i >= side) nodes[i].succeed(nodes[i - side]);
        if (i % side != 0) nodes[i].succeed(nodes[i - 1]);
    }
    for (int run = 0; run != 100; ++run) {
        value.assign(value.size(), 0);
        CHECK(graph.run(pool));
        for (std::size_t i = 0; i != side * side; ++i)
            REQUIRE(value[i] == static_cast<int>(i / side + i % side) + 1);
    }
}

TEST_CASE("nodes without an order run at the same time") {
    thread_pool pool({.threads = 2});
    std::atomic<int> inside = 0;
    task_graph graph;
    const auto meet = [&] {
        ++inside;
        while (inside < 2) std::this_thread::yield();
    };
    auto first = graph.add([&] { inside = 0; });
    first.precede(graph.add(meet), graph.add(meet));
    CHECK(graph.run(pool));
    CHECK(graph.run(pool));
}

TEST_CASE("an empty graph, a graph of one node, and a graph without edges") {
    thread_pool pool({.threads = 2});
    std::atomic<int> calls = 0;
    task_graph graph;
    CHECK(graph.empty());
    CHECK(graph.run(pool));
    graph.add([&] { ++calls; });
    CHECK(graph.run(pool));
    CHECK(calls == 1);
    for (int i = 0; i != 99; ++i) graph.add([&, only = std::make_unique<int>(1)] { calls += *only; });
    CHECK(graph.size() == 100);
    CHECK(graph.run(pool));
    CHECK(calls == 101);
}

TEST_CASE("a long chain of nodes needs no deep stack") {
    thread_pool pool({.threads = 2});
    constexpr int length = 100'000;
    int calls = 0;
    task_graph graph;
    std::optional<task_graph::node> last;
    for (int i = 0; i != length; ++i) {
        auto next = graph.add([&] { ++calls; });
        if (last) last->precede(next);
        last = next;
    }
    CHECK(graph.run(pool));
    CHECK(calls == length);
}

TEST_CASE("an edge that was added twice counts as one order") {
    thread_pool pool({.threads = 2});
    std::string order;
    task_graph graph;
    auto a = graph.add([&] { order += 'a'; });
    auto b = graph.add([&] { order += 'b'; });
    a.precede(b, b);
    CHECK(graph.run(pool));
    CHECK(graph.run(pool));
    CHECK(order == "abab");
}

TEST_CASE("a graph can grow between two runs") {
    thread_pool pool({.threads = 2});
    std::string order;
    task_graph graph;
    auto a = graph.add([&] { order += 'a'; });
    CHECK(graph.run(pool));
    a.precede(graph.add([&] { order += 'b'; }));
    CHECK(graph.run(pool));
    graph.add([&] { order += 'c'; }).precede(a);
    CHECK(graph.run(pool));
    CHECK(order == "aabcab");
}

TEST_CASE("a condition chooses which successor runs, and the nodes of the other branches do not run") {
    thread_pool pool({.threads = 2});
    std::size_t choice = 0;
    std::string order;
    task_graph graph;
    auto start = graph.add([&] { order += 's'; });
    auto which = graph.add_condition([&] { return choice; });
    auto zero = graph.add([&] { order += '0'; });
    auto one = graph.add([&] { order += '1'; });
    start.precede(which);
    which.precede(zero, one);
    zero.precede(graph.add([&] { order += 'z'; }));
    for (choice = 0; choice != 3; ++choice) {
        CHECK(graph.run(pool));
        order += ' ';
    }
    CHECK(order == "s0z s1 s "); // the number 2 chooses no successor
    order.clear();
    choice = static_cast<std::size_t>(-1);
    CHECK(graph.run(pool));
    CHECK(order == "s");
}

TEST_CASE("a bool chooses the first or the second successor") {
    thread_pool pool({.threads = 1});
    bool choice = false;
    std::string order;
    task_graph graph;
    graph.add_condition([&] { return choice; }).precede(graph.add([&] { order += 'f'; }), graph.add([&] {
        order += 't';
    }));
    CHECK(graph.run(pool));
    choice = true;
    CHECK(graph.run(pool));
    CHECK(order == "ft");
}

TEST_CASE("a condition repeats a part of the graph, with all orders in each round") {
    thread_pool pool({.threads = 4});
    int rounds = 0;
    std::vector<int> work(8);
    int sum = 0;
    task_graph graph;
    auto begin = graph.add("begin", [&] { rounds = 0; });
    auto fork = graph.add("fork", [&] { ++rounds; });
    auto join = graph.add("join", [&] {
        for (const int each : work) sum += each - rounds; // each is equal to the number of the round
    });
    auto again = graph.add_condition("again", [&] { return rounds < 200 ? 0 : 1; });
    for (int& each : work) {
        auto node = graph.add([&each, &rounds] { each = rounds; });
        node.succeed(fork).precede(join);
    }
    begin.precede(fork);
    join.precede(again);
    again.precede(fork, graph.add("end", [&] { ++rounds; }));
    for (int run = 0; run != 5; ++run) {
        CHECK(graph.run(pool));
        CHECK(rounds == 201);
        CHECK(sum == 0);
    }
}

TEST_CASE("a condition may choose itself") {
    thread_pool pool({.threads = 2});
    int left = 0;
    task_graph graph;
    auto start = graph.add([&] { left = 10'000; });
    auto again = graph.add_condition([&] { return --left > 0 ? 0 : 1; });
    start.precede(again);
    again.precede(again);
    CHECK(graph.run(pool));
    CHECK(left == 0);
}

TEST_CASE("a node that two conditions choose at the same time runs twice, and never beside itself") {
    thread_pool pool({.threads = 4});
    std::atomic<int> inside = 0;
    std::atomic<int> beside = 0;
    int calls = 0; // not atomic: the runs of the node are ordered
    task_graph graph;
    auto common = graph.add([&] {
        if (++inside != 1) ++beside;
        std::this_thread::yield();
        ++calls;
        --inside;
    });
    for (int i = 0; i != 4; ++i) graph.add_condition([] { return 0; }).precede(common);
    auto after = graph.add([] {}); // may run beside a later run of the node
    common.precede(after);
    for (int run = 1; run <= 300; ++run) {
        CHECK(graph.run(pool));
        CHECK(calls == 4 * run);
    }
    CHECK(beside == 0);
}

TEST_CASE("loops that overtake each other run each node as often as its edges say") {
    thread_pool pool({.threads = 4});
    std::atomic<int> calls = 0;
    std::vector<int> rounds(3);
    task_graph graph;
    auto sink = graph.add([&] { ++calls; });
    for (int& each : rounds) {
        auto reset = graph.add([&each] { each = 0; });
        auto body = graph.add([&each] { ++each; });
        auto again = graph.add_condition([&each] { return each < 50 ? 0 : 1; });
        reset.precede(body);
        body.precede(again, sink); // the sink counts the passes of all loops
        again.precede(body);
    }
    for (int run = 1; run <= 50; ++run) {
        CHECK(graph.run(pool));
        CHECK(calls == 50 * run); // 150 edges are passed in each run, and the sink needs three of them
    }
}

TEST_CASE("a cycle without a condition is refused, and the message names the nodes") {
    thread_pool pool({.threads = 1});
    int calls = 0;
    const auto count = [&] { ++calls; };
    task_graph graph;
    auto before = graph.add("before", count);
    auto load = graph.add("load", count);
    auto parse = graph.add("parse", count);
    auto check = graph.add("check", count);
    auto after = graph.add("after", count);
    before.precede(load);
    load.precede(parse);
    parse.precede(check);
    check.precede(load, after);
    const std::string message = refusal_of(graph, pool);
    CAPTURE(message);
    CHECK(message.find("load -> parse -> check -> load") + message.find("parse -> check -> load -> parse")
              + message.find("check -> load -> parse -> check")
          != 3 * std::string::npos);
    CHECK(message.find("before") == std::string::npos);
    CHECK(message.find("after") == std::string::npos);
    CHECK(refusal_of(graph, pool) == message); // again
    CHECK(calls == 0);

    task_graph self;
    auto own = self.add("own", count);
    own.precede(own);
    CHECK(refusal_of(self, pool).find("own -> own") != std::string::npos);
}

TEST_CASE("a loop that can never be entered is refused: its condition waits for its own body") {
    thread_pool pool({.threads = 1});
    task_graph graph;
    auto init = graph.add("init", [] {});
    auto again = graph.add_condition("again", [] { return 0; });
    auto body = graph.add("body", [] {});
    init.precede(again);
    again.precede(body, graph.add("done", [] {}));
    body.precede(again); // a second edge for which `again` waits
    const std::string message = refusal_of(graph, pool);
    CAPTURE(message);
    CHECK((message.find("again -> body -> again") != std::string::npos
           || message.find("body -> again -> body") != std::string::npos));

    task_graph without_entry;
    auto first = without_entry.add_condition("first", [] { return 0; });
    first.precede(first);
    CHECK(refusal_of(without_entry, pool).find("first -> first") != std::string::npos);
}

TEST_CASE("a node may be a coroutine, and a condition too") {
    thread_pool pool({.threads = 1});
    int rounds = 0;
    std::string order;
    task_graph graph;
    auto body = graph.add([&]() -> coroutine<> {
        co_await ekiden::yield();
        order += 'b';
    });
    auto again = graph.add_condition([&]() -> coroutine<int> {
        co_await ekiden::yield();
        co_return ++rounds % 3 == 0 ? 1 : 0;
    });
    auto start = graph.add([&] { order += 's'; });
    auto end = graph.add([&]() -> coroutine<int> { // a result is dropped
        order += 'e';
        co_return 1;
    });
    start.precede(body);
    body.precede(again);
    again.precede(body, end);
    CHECK(graph.run(pool));
    CHECK(graph.run(pool));
    CHECK(order == "sbbbesbbbe");
}

TEST_CASE("a node may run another graph, in a pool with one thread") {
    thread_pool pool({.threads = 1});
    int calls = 0;
    task_graph inner;
    inner.add([&] { ++calls; }).precede(inner.add([&] { ++calls; }));
    task_graph outer;
    auto plain = outer.add([&] { inner.run(); });
    auto awaited = outer.add([&]() -> coroutine<> {
        const bool is_whole = co_await inner.start(pool);
        if (!is_whole) throw std::logic_error("stopped");
    });
    plain.precede(awaited);
    CHECK(outer.run(pool));
    CHECK(calls == 4);
    CHECK(pool.submit([&] { return outer.run(); }).get());
    CHECK(calls == 8);
}

TEST_CASE("a graph runs on any executor") {
    ekiden::loop_context loop;
    std::string order;
    task_graph graph;
    graph.add([&] { order += 'a'; }).precede(graph.add([&] { order += 'b'; }));
    auto result = graph.start(loop.get_executor());
    CHECK(order.empty());
    loop.run();
    CHECK(result.get());
    CHECK(order == "ab");
}

TEST_CASE("a graph is drawn as Graphviz text, with its names and its conditions") {
    task_graph graph;
    auto load = graph.add("load \"x\"", [] {});
    auto again = graph.add_condition("again?", [] { return 0; });
    auto unnamed = graph.add([] {});
    load.precede(again);
    again.precede(load, unnamed);
    CHECK(unnamed.name() == "node 2");
    CHECK(graph.diagram("my graph")
          == "digraph \"my graph\" {\n"
             "  n0 [label=\"load \\\"x\\\"\"];\n"
             "  n1 [label=\"again?\", shape=diamond];\n"
             "  n2 [label=\"node 2\"];\n"
             "  n0 -> n1;\n"
             "  n1 -> n0 [style=dashed, label=\"0\"];\n"
             "  n1 -> n2 [style=dashed, label=\"1\"];\n"
             "}\n");
}

TEST_CASE("an edge between two graphs and an empty callable are refused") {
    task_graph one;
    task_graph other;
    auto a = one.add("a", [] {});
    auto b = other.add("b", [] {});
    CHECK_THROWS_WITH_AS(a.precede(b), "task_graph: the nodes a and b belong to different graphs",
                         std::invalid_argument);
    CHECK_THROWS_AS(one.add(std::function<void()>()), std::invalid_argument);
    CHECK(one.size() == 1);
    thread_pool pool({.threads = 1});
    CHECK(one.run(pool));
}
