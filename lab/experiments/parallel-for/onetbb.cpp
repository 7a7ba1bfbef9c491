#include <lab/experiments/parallel-for/parallel_for.hpp>
#include <lab/peers/onetbb_parallel.hpp>

namespace lab::parallel_for {
namespace {

const bool added = peers::add_row<peers::onetbb_parallel>("parallel-for", &run<peers::onetbb_parallel>);

} // namespace
} // namespace lab::parallel_for
