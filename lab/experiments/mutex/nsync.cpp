#include <lab/experiments/mutex/mutex.hpp>
#include <lab/peers/nsync_locks.hpp>

namespace lab::mutex {
namespace {

const bool added_nsync = peers::add_row<peers::nsync_lock>("mutex", &run<peers::nsync_lock>);

} // namespace
} // namespace lab::mutex
