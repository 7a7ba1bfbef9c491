#include <lab/experiments/timer-cancel/timer_cancel.hpp>
#include <lab/peers/boost_asio_executors.hpp>

namespace lab::timer_cancel {
namespace {

const bool added =
    peers::add_row<peers::boost_asio_executors>("timer-cancel", &run<peers::boost_asio_executors>);

} // namespace
} // namespace lab::timer_cancel
