#include <lab/experiments/fork-join/fork_join.hpp>
#include <lab/peers/openmp_parallel.hpp>

namespace lab::fork_join {
namespace {

const bool added = peers::add_openmp<peers::openmp_parallel>("fork-join", &run<peers::openmp_parallel>);

} // namespace
} // namespace lab::fork_join
