#include <lab/experiments/elastic-barrier/elastic_barrier.hpp>
#include <lab/peers/ekiden_source_locks.hpp>

namespace lab::elastic_barrier {
namespace {

const bool added_source =
    peers::add_row<peers::source_elastic_barrier>("elastic-barrier", &run<peers::source_elastic_barrier>);

} // namespace
} // namespace lab::elastic_barrier
