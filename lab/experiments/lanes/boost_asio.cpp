#include <lab/experiments/lanes/lanes.hpp>
#include <lab/experiments/lanes/strand_per_key.hpp>
#include <lab/peers/boost_asio_executors.hpp>

namespace lab::lanes {
namespace {

using strands = strand_per_key<peers::boost_asio_executors>;

const bool added = peers::add_row<strands>("lanes", &run<strands>, "a strand per key", true, "handles");

} // namespace
} // namespace lab::lanes
