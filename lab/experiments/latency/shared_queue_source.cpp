#include <lab/experiments/latency/latency.hpp>
#include <lab/peers/shared_queue_source.hpp>

namespace lab::latency {
namespace {

const bool added = peers::add_row<peers::shared_queue_source>("latency", &run<peers::shared_queue_source>);

} // namespace
} // namespace lab::latency
