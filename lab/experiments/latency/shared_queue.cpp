#include <lab/experiments/latency/latency.hpp>
#include <lab/peers/shared_queue.hpp>

namespace lab::latency {
namespace {

const bool added = peers::add_row<peers::shared_queue>("latency", &run<peers::shared_queue>);

} // namespace
} // namespace lab::latency
