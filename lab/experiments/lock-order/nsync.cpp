#include <lab/experiments/lock-order/lock_order.hpp>
#include <lab/peers/nsync_locks.hpp>

namespace lab::lock_order {
namespace {

const bool added_nsync = peers::add_row<peers::nsync_lock>("lock-order", &run<peers::nsync_lock>);

} // namespace
} // namespace lab::lock_order
