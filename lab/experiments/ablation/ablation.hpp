/// Experiment ablation: the gain from each of the source's tuning steps, alone and combined with the others.
///
/// In the variant "submit", one thread submits empty tasks. In "recursive", a tree of tasks spawns tasks. The
/// systems are independent of each other. The workloads are those of throughput and nested-spawn.
#pragma once

#include <lab/experiments/nested-spawn/nested_spawn.hpp>
#include <lab/experiments/throughput/throughput.hpp>

namespace lab::ablation {

/// Runs both variants for one system.
template <class System>
void run(cell& c) {
    if (c.asked().variant == "recursive")
        nested_spawn::run<System>(c);
    else
        throughput::run<System>(c);
}

} // namespace lab::ablation
