#include <lab/experiments/fork-join/fork_join.hpp>
#include <lab/peers/serial.hpp>

namespace lab::fork_join {
namespace {

const bool added =
    peers::add_row<peers::serial>("fork-join", &run<peers::serial>, "one thread, no forks", false);

} // namespace
} // namespace lab::fork_join
