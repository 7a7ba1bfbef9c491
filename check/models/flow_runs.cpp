// Whole runs of task_graph and pipeline: the counters of the nodes, the end of a run against the destructor,
// stops.
#include <check/engine/model.hpp>
#include <check/models/context_model.hpp>

#include <ekiden/flow/pipeline.hpp>
#include <ekiden/flow/task_graph.hpp>
#include <ekiden/sys/thread.hpp>

#include <memory>
#include <optional>

namespace flow_runs_models {

// Locks and counters of the run appear in each step, so old values are bounded.
#define FLOW_MODEL(name, ...) EKIDEN_MODEL(name, .load_buffering = false, .old_values = 2, __VA_ARGS__)

namespace {

using context_model::model_context;
using namespace ekiden;

/// Runs tasks of the context in this thread and in another one, until the future is ready.
void run_both(model_context& context, future<bool>& result) {
    sys::thread other([&] { context.run(); });
    while (!result.is_ready()) {
        context.run();
        sys::yield();
    }
    other.join();
}

} // namespace

FLOW_MODEL(graph_edges,
           .about = "a node sees what all nodes before it did, and the caller what all nodes did",
           .preemptions = 2) {
    model_context context;
    sys::cell<int> left{0};
    sys::cell<int> right{0};
    sys::cell<int> sum{0};
    task_graph graph;
    auto a = graph.add([&] { left.write(1); });
    auto b = graph.add([&] { right.write(2); });
    auto c = graph.add([&] { sum.write(left.read() + right.read()); });
    c.succeed(a, b);
    auto result = graph.start(context.get_executor());
    run_both(context, result);
    check::that(result.get(), "the run came to its end");
    check::that(sum.read() == 3, "the writes of both");
}

/// Runs a graph of two nodes without successors, and destroys it at once. One node may be a condition.
void run_two_sinks(bool with_condition) {
    model_context context;
    sys::cell<int> left{0};
    sys::cell<int> right{0};
    auto graph = std::make_unique<task_graph>();
    if (with_condition)
        graph->add_condition([&] { return left.write(1), 0; });
    else
        graph->add([&] { left.write(1); });
    graph->add([&] { right.write(2); });
    auto result = graph->start(context.get_executor());
    sys::thread other([&] { context.run(); });
    while (!result.is_ready()) {
        context.run();
        sys::yield();
    }
    graph.reset(); // at once
    check::that(result.get() && left.read() + right.read() == 3, "the writes of both");
    other.join();
}

FLOW_MODEL(graph_sinks, .about = "the run ends after the last of two nodes without successors",
           .preemptions = 2) {
    run_two_sinks(false);
}

FLOW_MODEL(graph_node_of_two_conditions,
           .about = "two conditions choose the same node, which runs twice in turn", .preemptions = 2) {
    model_context context;
    sys::cell<int> calls{0};
    sys::cell<int> left{0};
    sys::cell<int> right{0};
    auto graph = std::make_unique<task_graph>();
    auto common = graph->add([&] {
        calls.write(calls.read() + 1);
        if (calls.read() == 2) check::that(left.read() + right.read() == 3, "what both conditions did");
    });
    graph->add_condition([&] { return left.write(1), 0; }).precede(common);
    graph->add_condition([&] { return right.write(2), 0; }).precede(common);
    auto result = graph->start(context.get_executor());
    run_both(context, result);
    graph.reset();
    check::that(result.get(), "the run came to its end");
    check::that(calls.read() == 2, "the node has run twice");
}

FLOW_MODEL(graph_sinks_with_a_condition,
           .about = "in a graph with a condition, the run ends after the last of two nodes",
           .preemptions = 2) {
    run_two_sinks(true);
}

FLOW_MODEL(graph_edges_to_a_condition, .about = "a condition sees what all nodes before it did",
           .preemptions = 2) {
    model_context context;
    sys::cell<int> left{0};
    sys::cell<int> right{0};
    task_graph graph;
    auto a = graph.add([&] { left.write(1); });
    auto b = graph.add([&] { right.write(2); });
    auto c = graph.add_condition([&] { return left.read() + right.read(); });
    c.succeed(a, b);
    auto result = graph.start(context.get_executor());
    run_both(context, result);
    check::that(result.get(), "the run came to its end");
    check::that(left.read() + right.read() == 3, "the writes of both");
}

FLOW_MODEL(graph_loop, .about = "a loop sees what its last round did", .preemptions = 1) {
    model_context context;
    sys::cell<int> rounds{0};
    sys::cell<int> beside{0};
    task_graph graph;
    auto begin = graph.add([] {});
    auto body = graph.add([&] { rounds.write(rounds.read() + 1); });
    auto other = graph.add([&] { beside.write(beside.read() + 1); });
    auto again = graph.add_condition([&] { return rounds.read() < 2 ? 0 : 1; });
    begin.precede(body);
    body.precede(again, other);
    again.precede(body);
    auto result = graph.start(context.get_executor());
    run_both(context, result);
    check::that(result.get(), "the run came to its end");
    check::that(rounds.read() == 2 && beside.read() == 2, "each node has run twice");
}

FLOW_MODEL(graph_stop, .about = "a stop while the run ends", .preemptions = 2) {
    model_context context;
    sys::cell<int> before{0};
    task_graph graph;
    graph.add([&] { before.write(1); }).precede(graph.add([] {}));
    auto result = graph.start(context.get_executor());
    bool has_stopped = false;
    sys::thread stopper([&] { has_stopped = graph.request_stop(); });
    while (!result.is_ready()) {
        context.run();
        sys::yield();
    }
    stopper.join();
    check::that(result.get() != has_stopped, "the run was stopped, or came to its end");
}

FLOW_MODEL(graph_stop_between_runs, .about = "a stop while a run ends and the next one begins",
           .preemptions = 3) {
    model_context context;
    int runs = 0;
    bool sees_stop = false;
    task_graph graph;
    graph.add([&](std::stop_token token) { sees_stop = runs == 1 && token.stop_requested(); });
    bool has_stopped = false;
    sys::thread stopper([&] { has_stopped = graph.request_stop(); });
    bool is_whole[2] = {};
    for (; runs != 2; ++runs) {
        auto result = graph.start(context.get_executor());
        context.run();
        is_whole[runs] = result.get();
    }
    stopper.join();
    check::that(has_stopped != (is_whole[0] && is_whole[1]), "one run was stopped, or none");
    check::that(is_whole[0] || is_whole[1], "only one run was stopped");
    check::that(!sees_stop || !is_whole[1], "a stop of the first run does not reach the second one");
}

FLOW_MODEL(pipeline_two_items, .about = "two items pass a parallel and an ordered stage", .preemptions = 1) {
    model_context context;
    int made = 0;
    sys::cell<int> source_state{0};
    sys::cell<int> sum{0};
    int last = -1;
    {
        pipeline stages(in_order_stage([&]() -> std::optional<int> {
                            source_state.write(source_state.read() + 1);
                            if (made == 2) return std::nullopt;
                            return made++;
                        }),
                        parallel_stage([](int item) { return item; }), in_order_stage([&](int item) {
                            check::that(item == last + 1, "in order");
                            last = item;
                            sum.write(sum.read() + 1);
                        }));
        auto result = stages.start(context.get_executor(), {.in_flight = 2});
        run_both(context, result);
        check::that(result.get(), "the run came to its end");
    }
    check::that(sum.read() == 2 && source_state.read() == 3, "each item has passed once");
}

} // namespace flow_runs_models
