#include <lab/experiments/lock-order/lock_order.hpp>
#include <lab/peers/ekiden_locks.hpp>

namespace lab::lock_order {
namespace {

const bool added_fifo =
    peers::add_row<peers::ekiden_fifo_mutex>("lock-order", &run<peers::ekiden_fifo_mutex>);
const bool added_mutex = peers::add_row<peers::ekiden_mutex>("lock-order", &run<peers::ekiden_mutex>);

} // namespace
} // namespace lab::lock_order
