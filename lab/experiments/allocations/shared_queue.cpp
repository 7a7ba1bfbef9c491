#include <lab/experiments/allocations/allocations.hpp>
#include <lab/peers/shared_queue.hpp>

namespace lab::allocations {
namespace {

const bool added = peers::add_row<peers::shared_queue>("allocations", &run<peers::shared_queue>);

} // namespace
} // namespace lab::allocations
