#include <lab/experiments/allocations/allocations.hpp>
#include <lab/peers/boost_asio.hpp>

namespace lab::allocations {
namespace {

const bool added = peers::add_row<peers::boost_asio>("allocations", &run<peers::boost_asio>);

} // namespace
} // namespace lab::allocations
