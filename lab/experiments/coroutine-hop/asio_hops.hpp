/// Asio's coroutines that hop and await.
///
/// Used by: coroutine-hop, allocations.
#pragma once

#include <lab/experiments/coroutine-hop/awaitables.hpp>
#include <lab/peers/asio.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/use_awaitable.hpp>

namespace lab::coroutine_hop {

struct asio_coroutines : peers::asio {
    template <class T>
    using awaitable = ::asio::awaitable<T, executor>;

    static void spawn(context& on, awaitable<void> coroutine) {
        ::asio::co_spawn(on, std::move(coroutine), ::asio::detached);
    }

    static auto hop(strand& to) {
        return ::asio::post(::asio::bind_executor(to, ::asio::use_awaitable_t<executor>()));
    }
};

struct asio_hops : awaitables<asio_coroutines> {
    static constexpr peers::row row = asio_coroutines::row;
    using awaitables::awaitables;
};

} // namespace lab::coroutine_hop
