#include <lab/experiments/algorithms/algorithms.hpp>
#include <lab/peers/std_par_algorithms.hpp>

namespace lab::algorithms {
namespace {

const bool added = peers::add_row<peers::std_par_algorithms>("algorithms", &run<peers::std_par_algorithms>);

} // namespace
} // namespace lab::algorithms
