#include <lab/experiments/rwlock/rwlock.hpp>
#include <lab/peers/abseil_locks.hpp>

namespace lab::rwlock {
namespace {

const bool added_abseil = peers::add_row<peers::abseil_lock>("rwlock", &run<peers::abseil_lock>);

} // namespace
} // namespace lab::rwlock
