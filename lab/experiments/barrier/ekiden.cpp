#include <lab/experiments/barrier/barrier.hpp>
#include <lab/peers/ekiden_locks.hpp>

namespace lab::barrier {
namespace {

const bool added_barrier = peers::add_row<peers::ekiden_barrier>("barrier", &run<peers::ekiden_barrier>);
const bool added_parking =
    peers::add_row<peers::ekiden_parking_barrier>("barrier", &run<peers::ekiden_parking_barrier>);

} // namespace
} // namespace lab::barrier
