#include <lab/experiments/rw-starvation/rw_starvation.hpp>
#include <lab/peers/glibc_locks.hpp>

namespace lab::rw_starvation {
namespace {

const bool added = peers::add_row<peers::pthread_rw<false>>("rw-starvation", &run<peers::pthread_rw<false>>);
const bool added_writers =
    peers::add_row<peers::pthread_rw<true>>("rw-starvation", &run<peers::pthread_rw<true>>);

} // namespace
} // namespace lab::rw_starvation
