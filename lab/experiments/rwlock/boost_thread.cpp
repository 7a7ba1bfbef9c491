#include <lab/experiments/rwlock/rwlock.hpp>
#include <lab/peers/boost_locks.hpp>

namespace lab::rwlock {
namespace {

const bool added_boost = peers::add_row<peers::boost_shared_mutex>("rwlock", &run<peers::boost_shared_mutex>);

} // namespace
} // namespace lab::rwlock
