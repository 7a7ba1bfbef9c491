#include <lab/experiments/algorithms/algorithms.hpp>
#include <lab/peers/ekiden_algorithms.hpp>

namespace lab::algorithms {
namespace {

const bool added = peers::add_row<peers::ekiden_algorithms>("algorithms", &run<peers::ekiden_algorithms>);

} // namespace
} // namespace lab::algorithms
