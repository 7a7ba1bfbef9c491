#include <lab/experiments/nested-spawn/nested_spawn.hpp>
#include <lab/peers/boost_asio.hpp>

namespace lab::nested_spawn {
namespace {

const bool added = peers::add_row<peers::boost_asio>("nested-spawn", &run<peers::boost_asio>);

} // namespace
} // namespace lab::nested_spawn
