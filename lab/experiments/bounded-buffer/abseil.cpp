#include <lab/experiments/bounded-buffer/bounded_buffer.hpp>
#include <lab/peers/abseil_locks.hpp>

namespace lab::bounded_buffer {
namespace {

const bool added_abseil = peers::add_row<peers::abseil_buffer>("bounded-buffer", &run<peers::abseil_buffer>);

} // namespace
} // namespace lab::bounded_buffer
