#include <lab/experiments/latency/latency.hpp>
#include <lab/peers/concurrentqueue.hpp>

namespace lab::latency {
namespace {

const bool added = peers::add_row<peers::concurrentqueue<1>>("latency", &run<peers::concurrentqueue<1>>);

} // namespace
} // namespace lab::latency
