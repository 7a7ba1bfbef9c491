#include <lab/experiments/allocations/allocations.hpp>
#include <lab/peers/concurrentqueue.hpp>

namespace lab::allocations {
namespace {

const bool added = peers::add_row<peers::concurrentqueue<1>>("allocations", &run<peers::concurrentqueue<1>>);

} // namespace
} // namespace lab::allocations
