#include <lab/experiments/rw-starvation/rw_starvation.hpp>
#include <lab/peers/condition_locks.hpp>

namespace lab::rw_starvation {
namespace {

const bool added =
    peers::add_row<peers::condition_rw<false>>("rw-starvation", &run<peers::condition_rw<false>>);
const bool added_holding =
    peers::add_row<peers::condition_rw<true>>("rw-starvation", &run<peers::condition_rw<true>>);

} // namespace
} // namespace lab::rw_starvation
