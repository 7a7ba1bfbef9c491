#include <lab/experiments/lock-order/lock_order.hpp>
#include <lab/peers/ordered_locks.hpp>

namespace lab::lock_order {
namespace {

const bool added = peers::add_row<peers::mcs_lock>("lock-order", &run<peers::mcs_lock>);

} // namespace
} // namespace lab::lock_order
