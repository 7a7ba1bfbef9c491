#include <lab/experiments/socket-echo/echo.hpp>

#include <ekiden/adapter/asio/standalone.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/use_awaitable.hpp>
#include <ekiden/loop/loop_context.hpp>

namespace lab::socket_echo {
namespace {

// Asio's sockets on our contexts, whose threads wait for the system.
struct own_contexts {
    using context = ekiden::loop_context;
    using executor = ekiden::asio_executor_type<context::executor_type>;
    static executor executor_of(context& of) { return ekiden::asio_executor(of); }
    static auto home_of(const executor& of) { return of.get_inner_executor(); }
};

// Our coroutines on Asio's contexts.
struct asio_contexts {
    using context = ::asio::io_context;
    using executor = context::executor_type;
    static executor executor_of(context& of) { return of.get_executor(); }
    static auto home_of(const executor& of) { return ekiden::from_asio(of); }
};

template <class Contexts>
struct coroutines {
    using server = socket_on<typename Contexts::executor>;
    using client = server;

    // The coroutine ends at the end of a connection.
    static ekiden::coroutine<> serving(server& with) {
        message buffer;
        for (;;) {
            const auto [failed, got] =
                co_await ::asio::async_read(with, ::asio::buffer(buffer), ekiden::use_awaitable.as_tuple);
            if (failed) co_return;
            co_await ::asio::async_write(with, ::asio::buffer(buffer), ekiden::use_awaitable);
        }
    }

    static ekiden::coroutine<> asking(client& with, asker& all) {
        while (all.more()) {
            co_await ::asio::async_write(with, ::asio::buffer(all.next()), ekiden::use_awaitable);
            co_await ::asio::async_read(with, ::asio::buffer(all.answer()), ekiden::use_awaitable);
            all.answered();
        }
    }

    static void serve(server& one) { ekiden::co_spawn(Contexts::home_of(one.get_executor()), serving(one)); }
    static void ask(client& one, asker& all) {
        ekiden::co_spawn(Contexts::home_of(one.get_executor()), asking(one, all));
    }
};

struct by_callbacks : echo<own_contexts, callbacks<own_contexts::executor>> {
    static constexpr peers::row row{"ekiden-callbacks", "ekiden, callbacks", 2};
    using echo::echo;
};
struct by_coroutines : echo<own_contexts, coroutines<own_contexts>> {
    static constexpr peers::row row{"ekiden", "ekiden, coroutines", 0};
    using echo::echo;
};
struct on_asio : echo<asio_contexts, coroutines<asio_contexts>> {
    static constexpr peers::row row{"ekiden-on-asio", "ekiden, on io_context", 1};
    using echo::echo;
};

const bool added =
    peers::add_row<by_coroutines>("socket-echo", &run<by_coroutines>, "Asio's sockets on loop_context");
const bool added_on_asio =
    peers::add_row<on_asio>("socket-echo", &run<on_asio>, "coroutines on Asio's contexts");
const bool added_callbacks = peers::add_row<by_callbacks>(
    "socket-echo", &run<by_callbacks>, "Asio's sockets on loop_context", true, "callbacks");

} // namespace
} // namespace lab::socket_echo
