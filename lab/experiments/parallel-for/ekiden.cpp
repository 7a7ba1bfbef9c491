#include <lab/experiments/parallel-for/parallel_for.hpp>
#include <lab/peers/ekiden_parallel.hpp>

namespace lab::parallel_for {
namespace {

const bool added = peers::add_row<peers::ekiden_parallel>("parallel-for", &run<peers::ekiden_parallel>);

} // namespace
} // namespace lab::parallel_for
