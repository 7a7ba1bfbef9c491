#include <lab/experiments/parallel-for/parallel_for.hpp>
#include <lab/peers/rayon.hpp>

namespace lab::parallel_for {
namespace {

const bool added = peers::add_row<peers::rayon>("parallel-for", &run<peers::rayon>,
                                                "parallel iterators; the loops are in Rust");

const bool serial_added =
    peers::add_row<peers::rust_serial>("parallel-for", &run<peers::rust_serial>, "one thread", false);

} // namespace
} // namespace lab::parallel_for
