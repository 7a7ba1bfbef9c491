#include <lab/experiments/allocations/allocations.hpp>
#include <lab/peers/thread_per_task.hpp>

namespace lab::allocations {
namespace {

const bool added = peers::add_row<peers::thread_per_task>("allocations", &run<peers::thread_per_task>);

} // namespace
} // namespace lab::allocations
