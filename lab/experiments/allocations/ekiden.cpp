#include <lab/experiments/allocations/executors.hpp>
#include <lab/experiments/coroutine-hop/ekiden_hops.hpp>
#include <lab/peers/ekiden.hpp>
#include <lab/peers/ekiden_executors.hpp>

namespace lab::allocations {
namespace {

const bool added = peers::add_row<peers::ekiden>(
    "allocations", &run_both<peers::ekiden, peers::ekiden_executors, coroutine_hop::ekiden_hops>);

} // namespace
} // namespace lab::allocations
