#include <lab/experiments/parallel-for/parallel_for.hpp>
#include <lab/peers/openmp_parallel.hpp>

namespace lab::parallel_for {
namespace {

const bool added = peers::add_openmp<peers::openmp_parallel>("parallel-for", &run<peers::openmp_parallel>);

} // namespace
} // namespace lab::parallel_for
