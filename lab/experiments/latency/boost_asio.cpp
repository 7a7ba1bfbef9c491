#include <lab/experiments/latency/latency.hpp>
#include <lab/peers/boost_asio.hpp>

namespace lab::latency {
namespace {

const bool added = peers::add_row<peers::boost_asio>("latency", &run<peers::boost_asio>);

} // namespace
} // namespace lab::latency
