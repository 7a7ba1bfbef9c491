#include <lab/experiments/rw-starvation/rw_starvation.hpp>
#include <lab/peers/abseil_locks.hpp>

namespace lab::rw_starvation {
namespace {

const bool added_abseil = peers::add_row<peers::abseil_lock>("rw-starvation", &run<peers::abseil_lock>);

} // namespace
} // namespace lab::rw_starvation
