/// The server's second port: any HTTP request is answered with the text of a function. One reader at a time.
#pragma once

#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/read_until.hpp>
#include <asio/write.hpp>
#include <functional>
#include <string>

namespace ordered {

/// On the network's thread, which alone calls `text`. The timer rings on the pool's.
class metrics_page {
public:
    using tcp = asio::ip::tcp;

    /// Listens.
    metrics_page(asio::io_context& network, ekiden::thread_pool& pool, const tcp::endpoint& where,
                 std::function<std::string()> text)
        : network_(network), text_(std::move(text)), acceptor_(network, where), reader_(network),
          timer_(pool) {}

    [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

    void accept() {
        acceptor_.async_accept([this](const std::error_code& error, tcp::socket socket) {
            if (!acceptor_.is_open()) return;
            reader_ = std::move(socket);
            // As long as a reader may take; after an error, until the system may have descriptors again.
            timer_.expires_after(std::chrono::seconds(1));
            timer_.async_wait([this](std::error_code cancelled) {
                if (!cancelled) asio::post(network_, [this] { next(); });
            });
            if (!error) serve();
        });
    }
    void close() {
        std::error_code ignored;
        acceptor_.close(ignored);
        reader_.close(ignored);
        timer_.cancel();
    }

private:
    void serve() {
        bytes_.clear();
        asio::async_read_until(
            reader_, asio::dynamic_buffer(bytes_, 8 * 1024), "\r\n\r\n",
            [this](const std::error_code& failed, std::size_t) {
                if (failed) return;
                bytes_ = "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n" + text_();
                asio::async_write(reader_, asio::buffer(bytes_), [this](const std::error_code&, std::size_t) {
                    if (timer_.cancel() != 0) next(); // else the timer has done it, or will
                });
            });
    }
    void next() {
        std::error_code ignored;
        reader_.close(ignored);
        if (acceptor_.is_open()) accept();
    }

    asio::io_context& network_;
    std::function<std::string()> text_;
    tcp::acceptor acceptor_;
    tcp::socket reader_;
    std::string bytes_; // the request, then the page
    ekiden::steady_timer timer_;
};

} // namespace ordered
