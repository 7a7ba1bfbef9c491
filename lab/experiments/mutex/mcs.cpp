#include <lab/experiments/mutex/mutex.hpp>
#include <lab/peers/ordered_locks.hpp>

namespace lab::mutex {
namespace {

const bool added_mcs = peers::add_row<peers::mcs_lock>("mutex", &run<peers::mcs_lock>);

} // namespace
} // namespace lab::mutex
