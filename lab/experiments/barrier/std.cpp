#include <lab/experiments/barrier/barrier.hpp>
#include <lab/peers/system_locks.hpp>

namespace lab::barrier {
namespace {

const bool added_pthread = peers::add_row<peers::pthread_barrier>("barrier", &run<peers::pthread_barrier>);
const bool added_std = peers::add_row<peers::std_barrier>("barrier", &run<peers::std_barrier>);

} // namespace
} // namespace lab::barrier
