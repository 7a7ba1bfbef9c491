#include <lab/experiments/lanes/lanes.hpp>
#include <lab/experiments/lanes/strand_per_key.hpp>
#include <lab/peers/asio.hpp>

namespace lab::lanes {
namespace {

using strands = strand_per_key<peers::asio>;

const bool added = peers::add_row<strands>("lanes", &run<strands>, "a strand per key", true, "handles");

} // namespace
} // namespace lab::lanes
