#include <lab/experiments/mutex/mutex.hpp>
#include <lab/peers/ekiden_locks.hpp>

namespace lab::mutex {
namespace {

const bool added_mutex = peers::add_row<peers::ekiden_mutex>("mutex", &run<peers::ekiden_mutex>);
const bool added_fifo = peers::add_row<peers::ekiden_fifo_mutex>("mutex", &run<peers::ekiden_fifo_mutex>);
const bool added_spin = peers::add_row<peers::ekiden_spin_mutex>("mutex", &run<peers::ekiden_spin_mutex>);
const bool added_hybrid =
    peers::add_row<peers::ekiden_hybrid_mutex>("mutex", &run<peers::ekiden_hybrid_mutex>);

} // namespace
} // namespace lab::mutex
