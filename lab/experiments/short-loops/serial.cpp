#include <lab/experiments/short-loops/short_loops.hpp>
#include <lab/peers/serial.hpp>

namespace lab::short_loops {
namespace {

const bool added = peers::add_row<peers::serial>("short-loops", &run<peers::serial>, "one thread", false);

} // namespace
} // namespace lab::short_loops
