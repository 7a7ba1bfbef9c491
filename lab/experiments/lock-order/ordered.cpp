#include <lab/experiments/lock-order/lock_order.hpp>
#include <lab/peers/ordered_locks.hpp>

namespace lab::lock_order {
namespace {

const bool added_ticket = peers::add_row<peers::ticket_lock>("lock-order", &run<peers::ticket_lock>);
const bool added_chain = peers::add_row<peers::chained_events>("lock-order", &run<peers::chained_events>);

} // namespace
} // namespace lab::lock_order
