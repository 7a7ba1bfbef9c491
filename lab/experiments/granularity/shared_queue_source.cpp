#include <lab/experiments/granularity/granularity.hpp>
#include <lab/peers/shared_queue_source.hpp>

namespace lab::granularity {
namespace {

const bool added =
    peers::add_row<peers::shared_queue_source>("granularity", &run<peers::shared_queue_source>);

} // namespace
} // namespace lab::granularity
