#include <lab/experiments/spin-vs-mutex/spin_vs_mutex.hpp>
#include <lab/peers/glibc_locks.hpp>

namespace lab::spin_vs_mutex {
namespace {

const bool added = peers::add_row<peers::pthread_adaptive>("spin-vs-mutex", &run<peers::pthread_adaptive>);

} // namespace
} // namespace lab::spin_vs_mutex
