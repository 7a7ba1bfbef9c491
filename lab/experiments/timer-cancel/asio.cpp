#include <lab/experiments/timer-cancel/timer_cancel.hpp>
#include <lab/peers/asio.hpp>

namespace lab::timer_cancel {
namespace {

const bool added = peers::add_row<peers::asio>("timer-cancel", &run<peers::asio>);

} // namespace
} // namespace lab::timer_cancel
