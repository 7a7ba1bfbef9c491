#include <lab/experiments/bounded-buffer/bounded_buffer.hpp>
#include <lab/peers/ekiden_locks.hpp>

namespace lab::bounded_buffer {
namespace {

const bool added_ours = peers::add_row<peers::ekiden_buffer>(
    "bounded-buffer",
    &run_both<peers::ekiden_buffer, peers::ekiden_open_buffer<ekiden::watermark_buffer<long>>>);

} // namespace
} // namespace lab::bounded_buffer
