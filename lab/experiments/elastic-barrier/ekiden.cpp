#include <lab/experiments/elastic-barrier/elastic_barrier.hpp>
#include <lab/peers/ekiden_locks.hpp>

namespace lab::elastic_barrier {
namespace {

const bool added_ours =
    peers::add_row<peers::ekiden_elastic_barrier>("elastic-barrier", &run<peers::ekiden_elastic_barrier>);

} // namespace
} // namespace lab::elastic_barrier
