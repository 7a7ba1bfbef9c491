// Asio and this library together. Each runs on the other's executors, and coroutines await sockets.
#include <ekiden/adapter/asio/standalone.hpp>
#include <ekiden/async.hpp>
#include <ekiden/execution.hpp>
#include <ekiden/lanes.hpp>
#include <ekiden/loop.hpp>
#include <ekiden/pool.hpp>
#include <ekiden/timer.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/write.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

void ours_for_asio() {
    std::atomic<int> calls{0};
    ekiden::thread_pool pool(2);
    const ekiden::lanes<int> lanes(pool.get_executor());
    const auto e = ekiden::asio_executor(pool); // or for any executor: a strand, a lane, a loop
    const auto lane = ekiden::asio_executor(lanes.get_executor(42));

    asio::post(e, [&] { ++calls; });
    asio::post(asio::make_strand(e), [&] { ++calls; });
    const asio::any_io_executor any = lane; // no allocation for executors of 16 bytes
    asio::steady_timer timer(any, 1ms);
    timer.async_wait([&](std::error_code) { ++calls; }); // called in the lane of 42
    pool.join();                                         // Asio's pending operations are work of the pool
    std::cout << calls << " calls\n";
}

void asios_for_us() {
    asio::io_context io;
    const auto e = ekiden::from_asio(io); // or from_asio(executor), of any type
    const ekiden::strand serial(e);
    std::string order;
    ekiden::post(serial, [&] { order += "a strand of ours"; });
    ekiden::post(serial, [&] { order += " on Asio's context"; });
    ekiden::steady_timer timer(e, 1ms);
    timer.async_wait([&](std::error_code) { order += ", and a timer"; });
    io.run(); // the timer is work of Asio's context
    std::cout << order << '\n';
}

ekiden::coroutine<> serve(tcp::socket socket) {
    std::array<char, 1024> bytes{};
    for (;;) {
        const auto [error, n] =
            co_await socket.async_read_some(asio::buffer(bytes), ekiden::use_awaitable.as_tuple);
        if (error) co_return; // asio::error::eof, or operation_aborted after a stop
        co_await asio::async_write(socket, asio::buffer(bytes, n), ekiden::use_awaitable); // throws
    }
}

ekiden::coroutine<> serve_one(tcp::socket socket) {
    try {
        co_await serve(std::move(socket));
    } catch (const std::system_error&) { // the client has disconnected; the others continue
    }
}

ekiden::coroutine<> serve_all(tcp::acceptor& acceptor) {
    ekiden::async_scope clients(co_await ekiden::get_environment());
    for (;;) {
        auto [error, socket] = co_await acceptor.async_accept(ekiden::use_awaitable.as_tuple);
        if (error) break; // operation_aborted after a stop
        auto client = [s = std::move(socket)]() mutable { return serve_one(std::move(s)); };
        if (!clients.spawn(std::move(client))) break; // the scope is closed, which does not happen here
    }
    co_await clients.wait();
}

ekiden::coroutine<std::string> ask(asio::any_io_executor e, tcp::endpoint where) {
    tcp::socket socket(e);
    co_await socket.async_connect(where, ekiden::use_awaitable);
    const std::string sent = "ping";
    co_await asio::async_write(socket, asio::buffer(sent), ekiden::use_awaitable);
    std::string read(sent.size(), ' ');
    co_await asio::async_read(socket, asio::buffer(read), ekiden::use_awaitable);
    co_return read;
}

void coroutines() {
    asio::io_context io(1);
    tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    tcp::socket client(io);
    client.connect(acceptor.local_endpoint());
    // Runs on Asio's context, so it needs no hop.
    ekiden::co_spawn(ekiden::from_asio(io), serve(acceptor.accept()));

    ekiden::thread_pool pool(2);
    const auto answer = [&] { // runs on the pool; Asio's thread waits for the socket
        tcp::acceptor other(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
        auto asked = ekiden::co_spawn(pool, ask(ekiden::asio_executor(pool), other.local_endpoint()),
                                      ekiden::use_future);
        ekiden::co_spawn(ekiden::from_asio(io), serve(other.accept()));
        client.close();
        io.run();
        return asked.get();
    }();
    std::cout << answer << '\n';
}

ekiden::coroutine<> serve_until_a_signal(tcp::acceptor& acceptor) {
    asio::signal_set signals(acceptor.get_executor(), SIGINT, SIGTERM);
    const auto serving = [&] { return serve_all(acceptor); };
    const auto asked_to_end = [&]() -> ekiden::coroutine<> {
        co_await signals.async_wait(ekiden::use_awaitable);
    };
    co_await ekiden::when_any(serving, asked_to_end); // stops the other one and waits for it
}

void server() {
    ekiden::loop_context loop(1); // only the thread that calls run() works
    const auto e = ekiden::asio_executor(loop);
    tcp::acceptor acceptor(e, tcp::endpoint(asio::ip::address_v4::loopback(), 0)); // 0: any free port
    const auto client = [&]() -> ekiden::coroutine<> {
        std::cout << co_await ask(e, acceptor.local_endpoint()) << " of a server\n";
        std::raise(SIGTERM);
    };
    ekiden::co_spawn(loop, client, ekiden::detached);
    ekiden::co_spawn(loop, [&] { return serve_until_a_signal(acceptor); }, ekiden::detached);
    loop.run(); // returns when all of them have ended
}

ekiden::coroutine<> waits(asio::any_io_executor e) {
    asio::steady_timer timer(e, 1h);
    const auto [error] = co_await timer.async_wait(ekiden::use_awaitable.as_tuple);
    std::cout << "stopped: " << (error == asio::error::operation_aborted) << '\n';
}

void stops() {
    ekiden::thread_pool pool(2);
    std::stop_source source;
    auto ended = ekiden::co_spawn(pool, waits(ekiden::asio_executor(pool)), ekiden::use_future,
                                  ekiden::spawn_options().stop(source.get_token()));
    source.request_stop(); // before or during the wait: it ends with operation_aborted
    ended.get();
}

} // namespace

int main() {
    ours_for_asio();
    asios_for_us();
    coroutines();
    server();
    stops();
}
