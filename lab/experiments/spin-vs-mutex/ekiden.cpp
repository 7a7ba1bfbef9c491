#include <lab/experiments/spin-vs-mutex/spin_vs_mutex.hpp>
#include <lab/peers/ekiden_locks.hpp>

namespace lab::spin_vs_mutex {
namespace {

const bool added_mutex = peers::add_row<peers::ekiden_mutex>("spin-vs-mutex", &run<peers::ekiden_mutex>);
const bool added_spin = peers::add_row<peers::ekiden_spin_mutex>(
    "spin-vs-mutex", &run<peers::ekiden_spin_mutex>, "", true, "spins");
const bool added_hybrid =
    peers::add_row<peers::ekiden_hybrid_mutex>("spin-vs-mutex", &run<peers::ekiden_hybrid_mutex>);

} // namespace
} // namespace lab::spin_vs_mutex
