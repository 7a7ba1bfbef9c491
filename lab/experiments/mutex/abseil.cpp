#include <lab/experiments/mutex/mutex.hpp>
#include <lab/peers/abseil_locks.hpp>

namespace lab::mutex {
namespace {

const bool added_abseil = peers::add_row<peers::abseil_lock>("mutex", &run<peers::abseil_lock>);

} // namespace
} // namespace lab::mutex
