/// A function that converts a transition table to a diagram.
///
/// Part: sync. Used by: users and the documentation.
#pragma once

#include <ekiden/sync/state_table.hpp>

#include <map>
#include <string>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Returns the table as a directed graph in the language of Graphviz. The command `dot -Tsvg` of Graphviz
/// draws the graph. Each state is a node, and the initial state has a double border. If operations lead from
/// one state to another, the graph has an edge between the two states. The label of an edge names these
/// operations.
template <class Table>
[[nodiscard]] std::string state_diagram(const Table& table, std::string_view name = "states") {
    using state = typename Table::state;
    std::string text = "digraph \"" + std::string(name) + "\" {\n";
    for (std::size_t i = 0; i < enumerator_count<state>(); ++i) {
        const auto s = static_cast<state>(i);
        text += "  " + std::string(ekiden::enumerator_name(s))
                + (s == table.initial ? " [peripheries=2]" : "") + ";\n";
    }
    std::map<std::pair<state, state>, std::string> edges;
    table.each_edge([&](std::string_view operation, state before, state after) {
        std::string& label = edges[{before, after}];
        label += (label.empty() ? "" : ", ") + std::string(operation);
    });
    for (const auto& [ends, label] : edges) {
        text += "  " + std::string(ekiden::enumerator_name(ends.first)) + " -> "
                + std::string(ekiden::enumerator_name(ends.second)) + " [label=\"" + label + "\"];\n";
    }
    return text + "}\n";
}

} // namespace ekiden::inline EKIDEN_ABI
