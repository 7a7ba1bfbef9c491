#include <lab/experiments/bounded-buffer/bounded_buffer.hpp>
#include <lab/peers/ekiden_locks.hpp>

namespace lab::bounded_buffer {
namespace {

const bool added_ours = peers::add_row<peers::ekiden_buffer>("bounded-buffer", &run<peers::ekiden_buffer>);

} // namespace
} // namespace lab::bounded_buffer
