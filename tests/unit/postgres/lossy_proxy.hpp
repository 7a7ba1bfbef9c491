/// A proxy in front of the socket of PostgreSQL that loses the end of a transaction.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <tests/unit/postgres/server.hpp>
#include <thread>
#include <unistd.h>
#include <vector>

namespace ekiden_test {

/// Passes bytes on between clients and the server. When told to, loses the next COMMIT.
class lossy_proxy {
public:
    enum class loss {
        none,
        answer,     ///< The server commits. The answer is lost, and both connections close.
        request,    ///< The server does not get the COMMIT, and both connections close.
        client_only ///< Like `request`, but the server does not notice it, like a network that is cut.
    };

    explicit lossy_proxy(const std::string& folder)
        : server_(folder + "/.s.PGSQL.5432"), folder_(folder + "/proxy"),
          listens_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
        std::filesystem::create_directory(folder_);
        const sockaddr_un here = address(folder_ + "/.s.PGSQL.5432");
        if (::bind(listens_, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0
            || ::listen(listens_, 64) != 0)
            std::abort();
        accepts_ = std::jthread([this](const std::stop_token& stop) { accept(stop); });
    }
    ~lossy_proxy() {
        accepts_.request_stop();
        accepts_.join();
        for (auto& one : connections_) one.request_stop();
        connections_.clear();
        for (const int one : abandoned_) ::close(one);
        ::close(listens_);
    }

    [[nodiscard]] std::string connection() const { return private_server::connection_in(folder_); }
    void lose_next(loss what) { next_ = what; }
    [[nodiscard]] int losses() const { return losses_; }

private:
    static sockaddr_un address(const std::string& path) {
        sockaddr_un result{};
        result.sun_family = AF_UNIX;
        std::strncpy(result.sun_path, path.c_str(), sizeof result.sun_path - 1);
        return result;
    }
    void accept(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            pollfd ready{listens_, POLLIN, 0};
            if (::poll(&ready, 1, 20) != 1) continue;
            const int client = ::accept(listens_, nullptr, nullptr);
            connections_.emplace_back([this, client](const std::stop_token& s) { pass(s, client); });
        }
    }
    static bool copy(int from, int to, std::string& seen) {
        char buffer[65536];
        const ssize_t n = ::read(from, buffer, sizeof buffer);
        if (n <= 0) return false;
        seen.assign(buffer, static_cast<std::size_t>(n));
        return to < 0 || ::send(to, buffer, seen.size(), MSG_NOSIGNAL) == n;
    }
    void pass(const std::stop_token& stop, int client) {
        const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
        const sockaddr_un there = address(server_);
        bool goes_on = ::connect(server, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0;
        bool keeps_server = false;
        std::string seen;
        while (goes_on && !stop.stop_requested()) {
            pollfd ready[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
            if (::poll(ready, 2, 20) <= 0) continue;
            if (ready[1].revents != 0 && !copy(server, client, seen)) break;
            if (ready[0].revents == 0) continue;
            goes_on = copy(client, -1, seen);
            if (!goes_on) break;
            using namespace std::string_view_literals;
            const bool is_commit = seen.find("commit\0"sv) != std::string::npos;
            // Of several connections that commit at once, one loses its COMMIT.
            if (const loss what = is_commit ? next_.exchange(loss::none) : loss::none; what != loss::none) {
                ++losses_;
                goes_on = false;
                if (what == loss::answer) {
                    (void)::send(server, seen.data(), seen.size(), MSG_NOSIGNAL);
                    (void)copy(server, -1, seen); // the answer
                }
                keeps_server = what == loss::client_only;
            } else {
                goes_on = ::send(server, seen.data(), seen.size(), MSG_NOSIGNAL)
                          == static_cast<ssize_t>(seen.size());
            }
        }
        ::close(client);
        if (!keeps_server) {
            ::close(server);
            return;
        }
        const std::lock_guard lock(mutex_);
        abandoned_.push_back(server);
    }

    const std::string server_, folder_;
    const int listens_;
    std::atomic<loss> next_{loss::none};
    std::atomic<int> losses_{0};
    std::mutex mutex_;
    std::vector<int> abandoned_;
    std::vector<std::jthread> connections_; // of the thread that accepts
    std::jthread accepts_;
};

} // namespace ekiden_test
