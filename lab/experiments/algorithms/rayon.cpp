#include <lab/experiments/algorithms/algorithms.hpp>
#include <lab/peers/rayon_algorithms.hpp>

namespace lab::algorithms {
namespace {

const bool added = peers::add_row<peers::rayon_algorithms>(
    "algorithms", &run<peers::rayon_algorithms>, "position_first, par_sort_by_key; the loops are in Rust");

} // namespace
} // namespace lab::algorithms
