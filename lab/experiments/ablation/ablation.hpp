/// Experiment ablation: what each of the source's steps of tuning brings, by itself and on top of the others.
///
/// Variant "submit": one thread submits empty tasks. Variant "recursive": a tree of tasks that spawn tasks.
/// The systems know nothing of each other; the workloads are those of throughput and nested-spawn.
#pragma once

#include <lab/experiments/nested-spawn/nested_spawn.hpp>
#include <lab/experiments/throughput/throughput.hpp>

namespace lab::ablation {

/// Both variants for one system.
template <class System>
void run(cell& c) {
    if (c.asked().variant == "recursive")
        nested_spawn::run<System>(c);
    else
        throughput::run<System>(c);
}

} // namespace lab::ablation
