#include <lab/experiments/allocations/executors.hpp>
#include <lab/experiments/coroutine-hop/asio_hops.hpp>
#include <lab/peers/asio.hpp>

namespace lab::allocations {
namespace {

const bool added = peers::add_row<peers::asio_pool>(
    "allocations", &run_both<peers::asio_pool, peers::asio, coroutine_hop::asio_hops>);

} // namespace
} // namespace lab::allocations
