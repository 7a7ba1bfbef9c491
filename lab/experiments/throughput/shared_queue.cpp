#include <lab/experiments/throughput/throughput.hpp>
#include <lab/peers/shared_queue.hpp>

namespace lab::throughput {
namespace {

const bool added = peers::add_row<peers::shared_queue>("throughput", &run<peers::shared_queue>);

} // namespace
} // namespace lab::throughput
