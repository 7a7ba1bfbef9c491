#include <lab/experiments/rw-starvation/rw_starvation.hpp>
#include <lab/peers/nsync_locks.hpp>

namespace lab::rw_starvation {
namespace {

const bool added_nsync = peers::add_row<peers::nsync_lock>("rw-starvation", &run<peers::nsync_lock>);

} // namespace
} // namespace lab::rw_starvation
