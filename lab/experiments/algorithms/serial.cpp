#include <lab/experiments/algorithms/algorithms.hpp>
#include <lab/peers/serial_algorithms.hpp>

namespace lab::algorithms {
namespace {

const bool added = peers::add_row<peers::serial_algorithms>("algorithms", &run<peers::serial_algorithms>,
                                                            "one thread", false);

} // namespace
} // namespace lab::algorithms
