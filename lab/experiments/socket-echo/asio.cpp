#include <lab/experiments/socket-echo/echo.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/use_awaitable.hpp>

namespace lab::socket_echo {
namespace {

struct contexts {
    using context = ::asio::io_context;
    using executor = context::executor_type;
    static executor executor_of(context& of) { return of.get_executor(); }
};

struct coroutines {
    using server = socket_on<contexts::executor>;
    using client = server;
    template <class T>
    using awaitable = ::asio::awaitable<T, contexts::executor>;
    static constexpr ::asio::use_awaitable_t<contexts::executor> awaited{};

    // An exception at the end of a connection ends the coroutine.
    static awaitable<void> serving(server& with) {
        message buffer;
        for (;;) {
            co_await ::asio::async_read(with, ::asio::buffer(buffer), awaited);
            co_await ::asio::async_write(with, ::asio::buffer(buffer), awaited);
        }
    }

    static awaitable<void> asking(client& with, asker& all) {
        while (all.more()) {
            co_await ::asio::async_write(with, ::asio::buffer(all.next()), awaited);
            co_await ::asio::async_read(with, ::asio::buffer(all.answer()), awaited);
            all.answered();
        }
    }

    static void serve(server& one) { ::asio::co_spawn(one.get_executor(), serving(one), ::asio::detached); }
    static void ask(client& one, asker& all) {
        ::asio::co_spawn(one.get_executor(), asking(one, all), ::asio::detached);
    }
};

struct by_callbacks : echo<contexts, callbacks<contexts::executor>> {
    static constexpr peers::row row{"asio", "Asio, callbacks", peers::asio::row.order};
    using echo::echo;
};
struct by_awaitables : echo<contexts, coroutines> {
    static constexpr peers::row row{"asio-awaitables", "Asio, awaitables", peers::asio::row.order + 1};
    using echo::echo;
};

const bool added = peers::add_row<by_callbacks>("socket-echo", &run<by_callbacks>, "", true, "callbacks");
const bool added_coroutines = peers::add_row<by_awaitables>("socket-echo", &run<by_awaitables>);

} // namespace
} // namespace lab::socket_echo
