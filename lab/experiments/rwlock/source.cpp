#include <lab/experiments/rwlock/rwlock.hpp>
#include <lab/peers/ekiden_source_locks.hpp>

namespace lab::rwlock {
namespace {

const bool added_false_false =
    peers::add_row<peers::source_rw<false, false>>("rwlock", &run<peers::source_rw<false, false>>);
const bool added_false_true =
    peers::add_row<peers::source_rw<false, true>>("rwlock", &run<peers::source_rw<false, true>>);
const bool added_true_false =
    peers::add_row<peers::source_rw<true, false>>("rwlock", &run<peers::source_rw<true, false>>);
const bool added_true_true =
    peers::add_row<peers::source_rw<true, true>>("rwlock", &run<peers::source_rw<true, true>>);

} // namespace
} // namespace lab::rwlock
