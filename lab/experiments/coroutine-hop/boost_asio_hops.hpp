/// Boost.Asio's coroutines that hop and await.
///
/// Used by: coroutine-hop, allocations.
#pragma once

#include <lab/experiments/coroutine-hop/awaitables.hpp>
#include <lab/peers/boost_asio_executors.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace lab::coroutine_hop {

struct boost_asio_coroutines : peers::boost_asio_executors {
    template <class T>
    using awaitable = boost::asio::awaitable<T, executor>;

    static void spawn(context& on, awaitable<void> coroutine) {
        boost::asio::co_spawn(on, std::move(coroutine), boost::asio::detached);
    }

    // bind_executor of Boost 1.74 does not accept use_awaitable. So this runs the handler on the strand by
    // hand.
    static auto hop(strand& to) {
        constexpr boost::asio::use_awaitable_t<executor> token;
        return boost::asio::async_initiate<const boost::asio::use_awaitable_t<executor>, void()>(
            [&to](auto handler) {
                boost::asio::post(to, [handler = std::move(handler)]() mutable { handler(); });
            },
            token);
    }
};

struct boost_asio_hops : awaitables<boost_asio_coroutines> {
    static constexpr peers::row row = boost_asio_coroutines::row;
    using awaitables::awaitables;
};

} // namespace lab::coroutine_hop
