#include <lab/experiments/semaphore/semaphore.hpp>
#include <lab/peers/ekiden_locks.hpp>

namespace lab::semaphore {
namespace {

const bool added = peers::add_row<peers::ekiden_semaphore>("semaphore", &run<peers::ekiden_semaphore>);

} // namespace
} // namespace lab::semaphore
