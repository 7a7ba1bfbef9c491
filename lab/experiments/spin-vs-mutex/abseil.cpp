#include <lab/experiments/spin-vs-mutex/spin_vs_mutex.hpp>
#include <lab/peers/abseil_locks.hpp>

namespace lab::spin_vs_mutex {
namespace {

const bool added_abseil = peers::add_row<peers::abseil_lock>("spin-vs-mutex", &run<peers::abseil_lock>);

} // namespace
} // namespace lab::spin_vs_mutex
