#include <lab/experiments/short-loops/short_loops.hpp>
#include <lab/peers/onetbb_parallel.hpp>

namespace lab::short_loops {
namespace {

const bool added = peers::add_row<peers::onetbb_parallel>("short-loops", &run<peers::onetbb_parallel>);

} // namespace
} // namespace lab::short_loops
