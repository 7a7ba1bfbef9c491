#include <lab/experiments/fork-join/fork_join.hpp>
#include <lab/peers/onetbb_parallel.hpp>

namespace lab::fork_join {
namespace {

const bool added =
    peers::add_row<peers::onetbb_parallel>("fork-join", &run<peers::onetbb_parallel>, "parallel_invoke");

} // namespace
} // namespace lab::fork_join
