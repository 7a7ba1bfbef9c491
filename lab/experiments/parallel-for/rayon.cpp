#include <lab/experiments/parallel-for/parallel_for.hpp>
#include <lab/peers/rayon.hpp>

namespace lab::parallel_for {
namespace {

const bool added = peers::add_row<peers::rayon>("parallel-for", &run<peers::rayon>,
                                                "parallel iterators; the loops are in Rust");

} // namespace
} // namespace lab::parallel_for
