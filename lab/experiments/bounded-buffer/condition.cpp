#include <lab/experiments/bounded-buffer/bounded_buffer.hpp>
#include <lab/peers/condition_locks.hpp>

namespace lab::bounded_buffer {
namespace {

const bool added_condition = peers::add_row<peers::condition_buffer>(
    "bounded-buffer", &run_both<peers::condition_buffer, peers::condition_watermark_buffer>);
const bool added_semaphore =
    peers::add_row<peers::semaphore_buffer>("bounded-buffer", &run<peers::semaphore_buffer>);

} // namespace
} // namespace lab::bounded_buffer
