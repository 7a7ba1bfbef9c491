#include <lab/experiments/timers/timers.hpp>
#include <lab/peers/asio.hpp>

namespace lab::timers {
namespace {

const bool added = peers::add_row<peers::asio>("timers", &run<peers::asio>);

} // namespace
} // namespace lab::timers
