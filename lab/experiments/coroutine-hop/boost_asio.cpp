#include <lab/experiments/coroutine-hop/boost_asio_hops.hpp>

namespace lab::coroutine_hop {
namespace {

const bool added = peers::add_row<boost_asio_hops>("coroutine-hop", &run<boost_asio_hops>, "awaitable");

} // namespace
} // namespace lab::coroutine_hop
