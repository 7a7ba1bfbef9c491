/// Experiment task-graph: graphs that are built once and run many times.
///
/// Each node writes one more than the largest value of the nodes before it. Each repetition checks the values
/// of the nodes, so it checks that each node runs once, after the nodes before it.
#pragma once

#include <lab/harness/busy.hpp>
#include <lab/harness/cell.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lab::task_graph {

/// A graph, as lists of numbers. The numbers of the nodes before a node are smaller than its own number.
struct shape {
    std::vector<std::vector<std::size_t>> before;
    std::uint64_t turns = 0;         // of each node
    std::vector<std::uint64_t> seen; // the values

    [[nodiscard]] std::size_t size() const { return before.size(); }
    std::size_t add(std::vector<std::size_t> earlier) {
        before.push_back(std::move(earlier));
        seen.push_back(0);
        return before.size() - 1;
    }
    void call(std::size_t node) {
        std::uint64_t value = seen[node]; // the value of the last run
        for (const std::size_t each : before[node]) value = std::max(value, seen[each]);
        if (turns != 0) (void)turn(turns, value);
        seen[node] = value + 1;
    }
};

inline shape shape_of(const cell& c) {
    const std::string& variant = c.asked().variant;
    shape graph;
    if (variant.starts_with("wavefront")) {
        const std::size_t side = c.pick(8, 64, 64);
        for (std::size_t i = 0; i != side * side; ++i) {
            std::vector<std::size_t> earlier;
            if (i >= side) earlier.push_back(i - side);
            if (i % side != 0) earlier.push_back(i - 1);
            graph.add(std::move(earlier));
        }
    } else if (variant.starts_with("chain")) {
        graph.add({});
        for (std::size_t i = 1; i != c.pick(50, 4000, 4000); ++i) graph.add({i - 1});
    } else if (variant.starts_with("fan")) {
        std::vector<std::size_t> middle;
        graph.add({});
        for (std::size_t i = 0; i != c.pick(50, 1000, 1000); ++i) middle.push_back(graph.add({0}));
        graph.add(std::move(middle));
    } else { // one block, three blocks after it, and one block after them
        graph.add({});
        for (std::size_t i = 0; i != 3; ++i) graph.add({0});
        graph.add({1, 2, 3});
    }
    if (!variant.ends_with("empty")) graph.turns = static_cast<std::uint64_t>(c.asked().turns_per_us);
    return graph;
}

/// `System` has a constructor (workers, graph), which builds the graph, and run_many(runs), which runs it.
template <class System>
void run(cell& c) {
    shape graph = shape_of(c);
    shape expected = graph;
    expected.turns = 0;
    System system(c.workers(), graph);
    const std::size_t nodes = c.pick(500, 400'000, 2'000'000) / (graph.turns == 0 ? 1 : 10);
    const std::size_t runs = std::max<std::size_t>(nodes / graph.size(), 1);
    const auto pass = [&] { system.run_many(runs); };
    const auto check = [&] {
        for (std::size_t r = 0; r != runs; ++r)
            for (std::size_t i = 0; i != graph.size(); ++i) expected.call(i);
        if (graph.seen != expected.seen) c.fail("a node has run too often, too rarely or too early");
    };
    pass();
    check();
    for (unsigned r = 0; c.again(r); ++r) {
        repetition found;
        found.used = c.measure(pass);
        const auto count = static_cast<double>(runs * graph.size());
        found.figures["ns_per_node"] = found.used.wall_s * 1e9 / count;
        found.figures["cpu_ns_per_node"] = found.used.cpu_s() * 1e9 / count;
        c.report(found);
        check();
    }
}

} // namespace lab::task_graph
