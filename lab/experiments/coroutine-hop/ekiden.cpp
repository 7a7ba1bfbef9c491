#include <lab/experiments/coroutine-hop/ekiden_hops.hpp>

namespace lab::coroutine_hop {
namespace {

const bool added = peers::add_row<ekiden_hops>("coroutine-hop", &run<ekiden_hops>, "coroutine, resume_on");

} // namespace
} // namespace lab::coroutine_hop
