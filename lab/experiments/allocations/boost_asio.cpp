#include <lab/experiments/allocations/executors.hpp>
#include <lab/experiments/coroutine-hop/boost_asio_hops.hpp>
#include <lab/peers/boost_asio.hpp>
#include <lab/peers/boost_asio_executors.hpp>

namespace lab::allocations {
namespace {

const bool added = peers::add_row<peers::boost_asio>(
    "allocations", &run_both<peers::boost_asio, peers::boost_asio_executors, coroutine_hop::boost_asio_hops>);

} // namespace
} // namespace lab::allocations
