#include <lab/experiments/rwlock/rwlock.hpp>
#include <lab/peers/nsync_locks.hpp>

namespace lab::rwlock {
namespace {

const bool added_nsync = peers::add_row<peers::nsync_lock>("rwlock", &run<peers::nsync_lock>);

} // namespace
} // namespace lab::rwlock
