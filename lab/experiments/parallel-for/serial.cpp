#include <lab/experiments/parallel-for/parallel_for.hpp>
#include <lab/peers/serial.hpp>

namespace lab::parallel_for {
namespace {

const bool added = peers::add_row<peers::serial>("parallel-for", &run<peers::serial>, "one thread", false);

} // namespace
} // namespace lab::parallel_for
