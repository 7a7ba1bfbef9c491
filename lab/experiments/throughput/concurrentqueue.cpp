#include <lab/experiments/throughput/throughput.hpp>
#include <lab/peers/concurrentqueue.hpp>

namespace lab::throughput {
namespace {

const bool added = peers::add_row<peers::concurrentqueue<1>>("throughput", &run<peers::concurrentqueue<1>>);

const bool added_bulk = peers::add_row<peers::concurrentqueue<16>>(
    "throughput", &run<peers::concurrentqueue<16>>, "workers take up to 16 tasks at once");

} // namespace
} // namespace lab::throughput
