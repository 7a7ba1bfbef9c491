#include <lab/experiments/latency/latency.hpp>
#include <lab/peers/thread_per_task.hpp>

namespace lab::latency {
namespace {

const bool added = peers::add_row<peers::thread_per_task>("latency", &run<peers::thread_per_task>);

} // namespace
} // namespace lab::latency
