#include <lab/experiments/rwlock/rwlock.hpp>
#include <lab/peers/condition_locks.hpp>

namespace lab::rwlock {
namespace {

const bool added = peers::add_row<peers::condition_rw<false>>("rwlock", &run<peers::condition_rw<false>>);
const bool added_holding =
    peers::add_row<peers::condition_rw<true>>("rwlock", &run<peers::condition_rw<true>>);

} // namespace
} // namespace lab::rwlock
