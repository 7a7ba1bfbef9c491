#include <lab/experiments/short-loops/short_loops.hpp>
#include <lab/peers/openmp_parallel.hpp>

namespace lab::short_loops {
namespace {

const bool added = peers::add_openmp<peers::openmp_parallel>("short-loops", &run<peers::openmp_parallel>);

} // namespace
} // namespace lab::short_loops
