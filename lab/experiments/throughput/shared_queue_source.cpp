#include <lab/experiments/throughput/throughput.hpp>
#include <lab/peers/shared_queue_source.hpp>

namespace lab::throughput {
namespace {

const bool added = peers::add_row<peers::shared_queue_source>("throughput", &run<peers::shared_queue_source>);

} // namespace
} // namespace lab::throughput
