#include <lab/experiments/granularity/granularity.hpp>
#include <lab/peers/shared_queue.hpp>

namespace lab::granularity {
namespace {

const bool added = peers::add_row<peers::shared_queue>("granularity", &run<peers::shared_queue>);

} // namespace
} // namespace lab::granularity
