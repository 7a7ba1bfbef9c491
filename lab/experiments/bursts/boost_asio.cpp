#include <lab/experiments/bursts/bursts.hpp>
#include <lab/peers/boost_asio.hpp>

namespace lab::bursts {
namespace {

const bool added = peers::add_row<peers::boost_asio>("bursts", &run<peers::boost_asio>);

} // namespace
} // namespace lab::bursts
