#include <lab/experiments/barrier/barrier.hpp>
#include <lab/peers/ekiden_locks.hpp>

namespace lab::barrier {
namespace {

const bool added_barrier = peers::add_row<peers::ekiden_barrier>("barrier", &run<peers::ekiden_barrier>);
const bool added_yields =
    peers::add_row<peers::ekiden_yielding_barrier>("barrier", &run<peers::ekiden_yielding_barrier>);

} // namespace
} // namespace lab::barrier
