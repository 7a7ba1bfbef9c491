/// A blocking connection to the server under test, and the server in its own thread.
#pragma once

#include <ordered_server/tcp_server.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <string_view>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace ordered_test {

/// A server on free ports, with two threads. The destructor stops and joins it.
class running_server {
public:
    explicit running_server(ordered::options chosen = {},
                            const ordered::desk_maker& make_desk = ordered::make_lane_desk)
        : server_(with_free_ports(chosen), make_desk), thread_([this] { server_.run(); }) {}
    ~running_server() { end(); }

    [[nodiscard]] std::uint16_t port() const { return server_.port(); }
    [[nodiscard]] std::uint16_t metrics_port() const { return server_.metrics_port(); }
    ordered::tcp_server& get() { return server_; }

    /// Stops the server, and returns when it has ended.
    const ordered::counters& end() {
        if (thread_.joinable()) {
            server_.stop();
            thread_.join();
        }
        return server_.count();
    }
    /// Waits until the server has ended, without stopping it.
    const ordered::counters& wait() {
        thread_.join();
        return server_.count();
    }

private:
    static ordered::options with_free_ports(ordered::options chosen) {
        chosen.port = chosen.metrics_port = 0;
        chosen.threads = 2;
        if (chosen.deadline.linger == ordered::deadlines{}.linger)
            chosen.deadline.linger = std::chrono::milliseconds(200);
        return chosen;
    }

    ordered::tcp_server server_;
    std::thread thread_;
};

class plain_client {
public:
    explicit plain_client(std::uint16_t port, int receive_buffer = 0)
        : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        const timeval patience{60, 0}; // a test that hangs fails instead
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (receive_buffer != 0)
            ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    }
    ~plain_client() { ::close(socket_); }
    plain_client(const plain_client&) = delete;
    plain_client& operator=(const plain_client&) = delete;

    [[nodiscard]] int socket() const { return socket_; }

    /// Returns false if the server has closed the connection.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (count <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(count));
        }
        return true;
    }
    void end_output() { ::shutdown(socket_, SHUT_WR); }

    /// Returns `size` bytes, or fewer if the connection ends.
    std::string receive(std::size_t size) {
        std::string all(size, '\0');
        const ssize_t count = ::recv(socket_, all.data(), size, MSG_WAITALL);
        all.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        return all;
    }
    std::string receive_lines(int count) {
        std::string all;
        for (std::string next = "x"; count != 0 && !next.empty(); count -= next == "\n" ? 1 : 0)
            all += next = receive(1);
        return all;
    }
    /// Returns all bytes until the server closes the connection.
    std::string receive_all() {
        std::string all;
        std::array<char, 4096> some;
        for (;;) {
            const ssize_t count = ::recv(socket_, some.data(), some.size(), 0);
            if (count <= 0) return all;
            all.append(some.data(), static_cast<std::size_t>(count));
        }
    }
    /// Sends the bytes and checks the reply.
    void expect(std::string_view bytes, std::string_view reply) {
        REQUIRE(send(bytes));
        CHECK(receive(reply.size()) == reply);
    }

private:
    int socket_;
};

} // namespace ordered_test
