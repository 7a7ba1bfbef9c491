#include <lab/experiments/lock-order/lock_order.hpp>
#include <lab/peers/system_locks.hpp>

namespace lab::lock_order {
namespace {

const bool added_mutex = peers::add_row<peers::std_mutex>("lock-order", &run<peers::std_mutex>);

} // namespace
} // namespace lab::lock_order
