#include <lab/experiments/timer-cancel/timer_cancel.hpp>
#include <lab/peers/ekiden_executors.hpp>

namespace lab::timer_cancel {
namespace {

const bool added = peers::add_row<peers::ekiden_executors>("timer-cancel", &run<peers::ekiden_executors>);

} // namespace
} // namespace lab::timer_cancel
