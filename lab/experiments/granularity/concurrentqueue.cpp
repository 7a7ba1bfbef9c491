#include <lab/experiments/granularity/granularity.hpp>
#include <lab/peers/concurrentqueue.hpp>

namespace lab::granularity {
namespace {

const bool added = peers::add_row<peers::concurrentqueue<1>>("granularity", &run<peers::concurrentqueue<1>>);

} // namespace
} // namespace lab::granularity
