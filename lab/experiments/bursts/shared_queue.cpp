#include <lab/experiments/bursts/bursts.hpp>
#include <lab/peers/shared_queue.hpp>

namespace lab::bursts {
namespace {

const bool added = peers::add_row<peers::shared_queue>("bursts", &run<peers::shared_queue>);

} // namespace
} // namespace lab::bursts
