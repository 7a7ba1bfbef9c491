#include <lab/experiments/latency/latency.hpp>
#include <lab/peers/ekiden.hpp>

namespace lab::latency {
namespace {

const bool added = peers::add_row<peers::ekiden>("latency", &run<peers::ekiden>);

} // namespace
} // namespace lab::latency
