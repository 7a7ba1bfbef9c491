#include <lab/experiments/barrier/barrier.hpp>
#include <lab/peers/ekiden_source_locks.hpp>

namespace lab::barrier {
namespace {

const bool added_3 =
    peers::add_row<peers::source_barrier<false, false>>("barrier", &run<peers::source_barrier<false, false>>);
const bool added_3b =
    peers::add_row<peers::source_barrier<true, false>>("barrier", &run<peers::source_barrier<true, false>>);
const bool added_4 =
    peers::add_row<peers::source_barrier<false, true>>("barrier", &run<peers::source_barrier<false, true>>);

} // namespace
} // namespace lab::barrier
