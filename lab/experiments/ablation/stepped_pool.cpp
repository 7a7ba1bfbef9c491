/// The steps: each one alone on top of plain work stealing, then added one by one.
#include <lab/experiments/ablation/ablation.hpp>
#include <lab/experiments/ablation/nodes_placement.hpp>
#include <lab/experiments/ablation/stepped_pool.hpp>
#include <lab/harness/registry.hpp>

namespace lab::ablation {
namespace {

template <steps S>
void run_steps(cell& c) {
    if constexpr (S.numa)
        if (numa_nodes().size() < 2) c.not_applicable("this machine has one NUMA node");
    run<stepped_pool<S>>(c);
}

template <steps S>
bool add_steps(const char* name, const char* title, int order) {
    return add(implementation{
        .experiment = "ablation", .name = name, .title = title, .run = &run_steps<S>, .order = order});
}

const bool added_base = add_steps<steps{}>("stealing", "work stealing", 30);

const bool added_alone =
    add_steps<steps{.padding = true}>("alone-padding", "only padding", 31)
    && add_steps<steps{.batch = true}>("alone-batch", "only batches of 16", 32)
    && add_steps<steps{.local_queue = true}>("alone-local", "only local queue", 33)
    && add_steps<steps{.numa = true}>("alone-numa", "only NUMA placement", 34)
    && add_steps<steps{.node_pool = true}>("alone-node-pool", "only object pool", 35)
    && add_steps<steps{.lock_free = true}>("alone-lock-free", "only lock-free deques", 36)
    && add_steps<steps{.without_future = true}>("alone-no-future", "only no future", 37);

constexpr steps with_padding{.padding = true};
constexpr steps with_batch{.padding = true, .batch = true};
constexpr steps with_local{.padding = true, .batch = true, .local_queue = true};
constexpr steps with_numa{.padding = true, .batch = true, .local_queue = true, .numa = true};
constexpr steps with_pool{.padding = true, .batch = true, .local_queue = true, .node_pool = true};
constexpr steps with_lock_free{
    .padding = true, .batch = true, .local_queue = true, .node_pool = true, .lock_free = true};
constexpr steps with_all{.padding = true,
                         .batch = true,
                         .local_queue = true,
                         .node_pool = true,
                         .lock_free = true,
                         .without_future = true};

const bool added_sums = add_steps<with_padding>("sum-padding", "stealing + padding", 41)
                        && add_steps<with_batch>("sum-batch", "  + batches of 16", 42)
                        && add_steps<with_local>("sum-local", "    + local queue", 43)
                        && add_steps<with_numa>("sum-numa", "      + NUMA placement", 44)
                        && add_steps<with_pool>("sum-node-pool", "      + object pool", 45)
                        && add_steps<with_lock_free>("sum-lock-free", "        + lock-free deques", 46)
                        && add_steps<with_all>("sum-no-future", "          + no future", 47);

} // namespace
} // namespace lab::ablation
