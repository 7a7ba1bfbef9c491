#include <lab/experiments/rwlock/rwlock.hpp>
#include <lab/peers/system_locks.hpp>

namespace lab::rwlock {
namespace {

const bool added_std = peers::add_row<peers::std_shared_mutex>("rwlock", &run<peers::std_shared_mutex>);

} // namespace
} // namespace lab::rwlock
