#include <lab/experiments/barrier/barrier.hpp>
#include <lab/peers/condition_locks.hpp>

namespace lab::barrier {
namespace {

const bool added_condition =
    peers::add_row<peers::condition_barrier>("barrier", &run<peers::condition_barrier>);

} // namespace
} // namespace lab::barrier
