#include <lab/experiments/allocations/allocations.hpp>
#include <lab/peers/shared_queue_source.hpp>

namespace lab::allocations {
namespace {

const bool added =
    peers::add_row<peers::shared_queue_source>("allocations", &run<peers::shared_queue_source>);

} // namespace
} // namespace lab::allocations
