#include <lab/experiments/elastic-barrier/elastic_barrier.hpp>
#include <lab/peers/condition_locks.hpp>

namespace lab::elastic_barrier {
namespace {

const bool added_condition = peers::add_row<peers::condition_elastic_barrier>(
    "elastic-barrier", &run<peers::condition_elastic_barrier>);

} // namespace
} // namespace lab::elastic_barrier
