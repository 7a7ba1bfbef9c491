#include <lab/experiments/semaphore/semaphore.hpp>
#include <lab/peers/condition_locks.hpp>

namespace lab::semaphore {
namespace {

const bool added = peers::add_row<peers::condition_semaphore>("semaphore", &run<peers::condition_semaphore>);

} // namespace
} // namespace lab::semaphore
