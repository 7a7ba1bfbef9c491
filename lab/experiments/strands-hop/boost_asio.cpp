#include <lab/experiments/strands-hop/strands_hop.hpp>
#include <lab/peers/boost_asio_executors.hpp>

namespace lab::strands_hop {
namespace {

const bool added =
    peers::add_row<peers::boost_asio_executors>("strands-hop", &run<peers::boost_asio_executors>);

} // namespace
} // namespace lab::strands_hop
