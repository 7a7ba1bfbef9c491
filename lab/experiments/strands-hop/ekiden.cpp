#include <lab/experiments/strands-hop/strands_hop.hpp>
#include <lab/peers/ekiden_executors.hpp>

namespace lab::strands_hop {
namespace {

const bool added = peers::add_row<peers::ekiden_executors>("strands-hop", &run<peers::ekiden_executors>);

} // namespace
} // namespace lab::strands_hop
