#include <lab/experiments/semaphore/semaphore.hpp>
#include <lab/peers/system_locks.hpp>

namespace lab::semaphore {
namespace {

const bool added = peers::add_row<peers::std_semaphore>("semaphore", &run<peers::std_semaphore>);

} // namespace
} // namespace lab::semaphore
