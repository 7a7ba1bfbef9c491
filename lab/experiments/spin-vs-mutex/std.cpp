#include <lab/experiments/spin-vs-mutex/spin_vs_mutex.hpp>
#include <lab/peers/system_locks.hpp>

namespace lab::spin_vs_mutex {
namespace {

const bool added_mutex = peers::add_row<peers::std_mutex>("spin-vs-mutex", &run<peers::std_mutex>);
const bool added_spin =
    peers::add_row<peers::pthread_spin>("spin-vs-mutex", &run<peers::pthread_spin>, "", true, "spins");

} // namespace
} // namespace lab::spin_vs_mutex
