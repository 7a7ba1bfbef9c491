#include <lab/experiments/throughput/throughput.hpp>
#include <lab/peers/std_async.hpp>

namespace lab::throughput {
namespace {

const bool added =
    peers::add_row<peers::std_async>("throughput", &run<peers::std_async>, "starts fewer tasks: 3,906");

} // namespace
} // namespace lab::throughput
