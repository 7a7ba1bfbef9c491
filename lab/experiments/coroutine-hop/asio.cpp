#include <lab/experiments/coroutine-hop/asio_hops.hpp>

namespace lab::coroutine_hop {
namespace {

const bool added = peers::add_row<asio_hops>("coroutine-hop", &run<asio_hops>, "awaitable");

} // namespace
} // namespace lab::coroutine_hop
