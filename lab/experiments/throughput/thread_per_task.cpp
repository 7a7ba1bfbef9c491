#include <lab/experiments/throughput/throughput.hpp>
#include <lab/peers/thread_per_task.hpp>

namespace lab::throughput {
namespace {

const bool added = peers::add_row<peers::thread_per_task>("throughput", &run<peers::thread_per_task>,
                                                          "starts fewer tasks: 3,906");

} // namespace
} // namespace lab::throughput
