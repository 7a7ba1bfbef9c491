#include <lab/experiments/throughput/throughput.hpp>
#include <lab/peers/boost_asio.hpp>

namespace lab::throughput {
namespace {

const bool added = peers::add_row<peers::boost_asio>("throughput", &run<peers::boost_asio>);

} // namespace
} // namespace lab::throughput
