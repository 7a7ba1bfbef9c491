#include <lab/experiments/fork-join/fork_join.hpp>
#include <lab/peers/ekiden_parallel.hpp>

namespace lab::fork_join {
namespace {

const bool added = peers::add_row<peers::ekiden_parallel>("fork-join", &run<peers::ekiden_parallel>);

} // namespace
} // namespace lab::fork_join
