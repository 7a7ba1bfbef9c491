#include <lab/experiments/granularity/granularity.hpp>
#include <lab/peers/thread_per_task.hpp>

namespace lab::granularity {
namespace {

const bool added = peers::add_row<peers::thread_per_task>("granularity", &run<peers::thread_per_task>,
                                                          "at most 1,562 tasks of each length");

} // namespace
} // namespace lab::granularity
