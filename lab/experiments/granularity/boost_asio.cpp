#include <lab/experiments/granularity/granularity.hpp>
#include <lab/peers/boost_asio.hpp>

namespace lab::granularity {
namespace {

const bool added = peers::add_row<peers::boost_asio>("granularity", &run<peers::boost_asio>);

} // namespace
} // namespace lab::granularity
