#include <lab/experiments/algorithms/algorithms.hpp>
#include <lab/peers/onetbb_algorithms.hpp>

namespace lab::algorithms {
namespace {

const bool added = peers::add_row<peers::onetbb_algorithms>("algorithms", &run<peers::onetbb_algorithms>);

} // namespace
} // namespace lab::algorithms
