#include <lab/experiments/rw-starvation/rw_starvation.hpp>
#include <lab/peers/ekiden_source_locks.hpp>

namespace lab::rw_starvation {
namespace {

const bool added_false_false =
    peers::add_row<peers::source_rw<false, false>>("rw-starvation", &run<peers::source_rw<false, false>>);
const bool added_false_true =
    peers::add_row<peers::source_rw<false, true>>("rw-starvation", &run<peers::source_rw<false, true>>);
const bool added_true_false =
    peers::add_row<peers::source_rw<true, false>>("rw-starvation", &run<peers::source_rw<true, false>>);
const bool added_true_true =
    peers::add_row<peers::source_rw<true, true>>("rw-starvation", &run<peers::source_rw<true, true>>);

} // namespace
} // namespace lab::rw_starvation
