/// Asio's sockets with callbacks, on any executor.
///
/// Used by: socket-echo.
#pragma once

#include <lab/experiments/socket-echo/socket_echo.hpp>
#include <lab/peers/asio.hpp>

#include <asio/basic_stream_socket.hpp>
#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

#include <cstddef>
#include <system_error>
#include <utility>

namespace lab::socket_echo {

template <class Executor>
using socket_on = ::asio::basic_stream_socket<::asio::ip::tcp, Executor>;

/// Returns the socket of a descriptor. The socket owns the descriptor.
template <class Executor>
socket_on<Executor> adopt(const Executor& on, int descriptor) {
    return socket_on<Executor>(on, ::asio::ip::tcp::v4(), descriptor);
}

/// Sends back all received bytes until the other end is closed.
template <class Executor>
class server_session {
public:
    explicit server_session(socket_on<Executor> s) : socket_(std::move(s)) {}

    void read() {
        ::asio::async_read(socket_, ::asio::buffer(buffer_),
                           [this](const std::error_code& error, std::size_t) {
                               if (!error) write();
                           });
    }

private:
    void write() {
        ::asio::async_write(socket_, ::asio::buffer(buffer_),
                            [this](const std::error_code& error, std::size_t) {
                                if (!error) read();
                            });
    }

    socket_on<Executor> socket_;
    message buffer_{};
};

template <class Executor>
class client_session {
public:
    explicit client_session(socket_on<Executor> s) : socket_(std::move(s)) {}

    /// Sends all messages of `all`, one after the other.
    void ask(asker& all) {
        if (!all.more()) return;
        ::asio::async_write(socket_, ::asio::buffer(all.next()),
                            [this, &all](const std::error_code& error, std::size_t) {
                                if (!error) read(all);
                            });
    }

private:
    void read(asker& all) {
        ::asio::async_read(socket_, ::asio::buffer(all.answer()),
                           [this, &all](const std::error_code& error, std::size_t) {
                               if (error) return;
                               all.answered();
                               ask(all);
                           });
    }

    socket_on<Executor> socket_;
};

template <class Executor>
struct callbacks {
    using server = server_session<Executor>;
    using client = client_session<Executor>;
    static void serve(server& one) { one.read(); }
    static void ask(client& one, asker& all) { one.ask(all); }
};

} // namespace lab::socket_echo
