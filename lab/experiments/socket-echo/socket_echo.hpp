/// Experiment socket-echo: clients send 64 bytes over TCP connections on this machine and wait for the echo.
///
/// Each message contains its number twice, and each answer is compared with it.
#pragma once

#include <lab/harness/cell.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace lab::socket_echo {

inline constexpr std::size_t message_size = 64;
using message = std::array<unsigned char, message_size>;

/// Both ends of connections over the loopback device, without delay to fill a packet. The function that takes
/// a descriptor closes it.
struct ends {
    std::vector<int> clients;
    std::vector<int> servers;
};

inline int must(int result, const char* what) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), what);
    return result;
}

inline ends connect(unsigned connections) {
    ends all;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    const int listener = must(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    must(::bind(listener, any, size), "bind");
    must(::listen(listener, 16), "listen");
    must(::getsockname(listener, any, &size), "getsockname");
    const auto ready = [](int socket) {
        const int on = 1;
        must(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
        return socket;
    };
    for (unsigned i = 0; i < connections; ++i) {
        const int client = must(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
        must(::connect(client, any, size), "connect");
        all.clients.push_back(ready(client));
        all.servers.push_back(ready(must(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), "accept")));
    }
    ::close(listener);
    return all;
}

/// The messages that a client sends, and the answers that it expects.
class asker {
public:
    explicit asker(std::uint64_t trips) : left_(trips) {}

    [[nodiscard]] bool more() const noexcept { return left_ > 0; }
    [[nodiscard]] std::uint64_t right() const noexcept { return right_; }

    /// Returns the next message.
    [[nodiscard]] const message& next() noexcept {
        std::memcpy(sent_.data(), &left_, sizeof left_);
        std::memcpy(sent_.data() + message_size - sizeof left_, &left_, sizeof left_);
        --left_;
        return sent_;
    }

    /// Returns the buffer for the answer.
    [[nodiscard]] message& answer() noexcept { return answer_; }

    void answered() noexcept { right_ += answer_ == sent_ ? 1 : 0; }

private:
    std::uint64_t left_;
    std::uint64_t right_ = 0;
    message sent_{};
    message answer_{};
};

/// System(ends) is a server that runs in its own thread. usage pass(cell&, askers): each client sends all
/// messages of its asker over its connection.
template <class System>
void run(cell& c) {
    const auto connections = static_cast<unsigned>(std::stoul(c.asked().variant));
    const std::uint64_t all_trips =
        connections == 1 ? c.pick(500, 10'000, 100'000) : c.pick(1'000, 40'000, 400'000);
    System system(connect(connections));
    const auto once = [&](std::uint64_t trips) {
        std::vector<asker> askers(connections, asker(trips));
        repetition found;
        found.used = system.pass(c, askers);
        std::uint64_t right = 0;
        for (const asker& one : askers) right += one.right();
        if (right != trips * connections)
            c.fail(std::to_string(right) + " answers were right of " + std::to_string(trips * connections));
        const auto all = static_cast<double>(right);
        found.figures = {{"us_per_trip", found.used.wall_s * 1e6 / all},
                         {"cpu_us", found.used.cpu_s() * 1e6 / all}};
        return found;
    };
    once(all_trips / connections / 5);
    for (unsigned r = 0; c.again(r); ++r) c.report(once(all_trips / connections));
}

} // namespace lab::socket_echo
