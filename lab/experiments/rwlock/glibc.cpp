#include <lab/experiments/rwlock/rwlock.hpp>
#include <lab/peers/glibc_locks.hpp>

namespace lab::rwlock {
namespace {

const bool added = peers::add_row<peers::pthread_rw<false>>("rwlock", &run<peers::pthread_rw<false>>);
const bool added_writers = peers::add_row<peers::pthread_rw<true>>("rwlock", &run<peers::pthread_rw<true>>);

} // namespace
} // namespace lab::rwlock
