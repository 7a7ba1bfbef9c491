#include <lab/experiments/latency/latency.hpp>
#include <lab/peers/std_async.hpp>

namespace lab::latency {
namespace {

const bool added = peers::add_row<peers::std_async>("latency", &run<peers::std_async>);

} // namespace
} // namespace lab::latency
