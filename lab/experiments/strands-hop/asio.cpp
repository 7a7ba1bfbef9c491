#include <lab/experiments/strands-hop/strands_hop.hpp>
#include <lab/peers/asio.hpp>

namespace lab::strands_hop {
namespace {

const bool added = peers::add_row<peers::asio>("strands-hop", &run<peers::asio>);

} // namespace
} // namespace lab::strands_hop
