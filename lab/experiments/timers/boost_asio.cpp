#include <lab/experiments/timers/timers.hpp>
#include <lab/peers/boost_asio_executors.hpp>

namespace lab::timers {
namespace {

const bool added = peers::add_row<peers::boost_asio_executors>("timers", &run<peers::boost_asio_executors>);

} // namespace
} // namespace lab::timers
