#include <lab/experiments/mutex/mutex.hpp>
#include <lab/peers/system_locks.hpp>

namespace lab::mutex {
namespace {

const bool added_mutex = peers::add_row<peers::std_mutex>("mutex", &run<peers::std_mutex>);

} // namespace
} // namespace lab::mutex
