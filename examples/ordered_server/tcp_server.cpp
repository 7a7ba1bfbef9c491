#include <ordered_server/encoding.hpp>
#include <ordered_server/tcp_server.hpp>

#include <ekiden/adapter/asio/standalone.hpp>
#include <ekiden/async.hpp>
#include <ekiden/execution.hpp>
#include <ekiden/pool.hpp>

#include <algorithm>
#include <asio/read_until.hpp>
#include <asio/write.hpp>
#include <csignal>

namespace ordered {

using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

class tcp_connection final : public connection {
public:
    tcp_connection(server& of, tcp::socket socket) : connection(of), socket_(std::move(socket)) {}

private:
    void read_some(std::span<char> into) override {
        socket_.async_read_some(asio::buffer(into.data(), into.size()),
                                [this, self = shared_from_this()](std::error_code error, std::size_t bytes) {
                                    if (error == asio::error::eof) error.clear();
                                    received(error, bytes);
                                });
    }
    void write_some(std::string_view bytes) override {
        socket_.async_write_some(asio::buffer(bytes), [this, self = shared_from_this()](
                                                          const std::error_code& error, std::size_t count) {
            sent(error, count);
        });
    }
    void end_output() override {
        std::error_code ignored;
        socket_.shutdown(tcp::socket::shutdown_send, ignored);
    }
    void close() override {
        std::error_code ignored;
        socket_.close(ignored);
    }

    tcp::socket socket_;
};

/// The largest number of readers of the metrics at the same time.
constexpr unsigned most_readers = 64;

tcp::acceptor listen(ekiden::loop_context& on, const std::string& address, std::uint16_t port) {
    return {ekiden::asio_executor(on), {asio::ip::make_address(address), port}};
}

} // namespace

tcp_server::tcp_server(const options& chosen, const desk_maker& make_desk)
    : clients_(listen(network_, chosen.address, chosen.port)),
      readers_(listen(network_, chosen.address, chosen.metrics_port)), signals_(clients_.get_executor()),
      pool_({.threads = chosen.threads,
             .name = "work",
             .watch_interval = std::min<std::chrono::milliseconds>(10ms, chosen.slow_task),
             .slow_task_time = chosen.slow_task,
             .on_slow_task = [this](const ekiden::slow_task_report& one) { slow_tasks_.add(one); }}),
      server_(network_.get_executor(), pool_.get_executor(), chosen, make_desk,
              [this] { ended_.request_stop(); }) {}

void tcp_server::run() noexcept {
    begin(accept());
    begin(serve_metrics());
    network_.run();
    pool_.wait_idle(); // a worker may still be completing the last request
}

void tcp_server::stop() {
    ekiden::post(network_, [this] { end(); });
}

void tcp_server::stop_on_signals() {
    for (const int one : {SIGINT, SIGTERM}) signals_.add(one);
    begin(await_signals());
}

void tcp_server::begin(ekiden::coroutine<> activity) {
    ekiden::co_spawn(server_.network(), std::move(activity), ekiden::detached,
                     ekiden::spawn_options().stop(ended_.get_token()));
}

ekiden::coroutine<> tcp_server::await_signals() {
    for (;;) {
        co_await signals_.async_wait(ekiden::use_awaitable);
        end();
    }
}

void tcp_server::end() {
    std::error_code ignored;
    clients_.close(ignored);
    server_.end();
}

// ---- accepting clients

ekiden::coroutine<> tcp_server::accept() {
    while (clients_.is_open()) {
        tcp::socket socket(clients_.get_executor());
        const auto [error] = co_await clients_.async_accept(socket, ekiden::use_awaitable.as_tuple);
        if (!clients_.is_open()) co_return;
        std::error_code ignored;
        if (error) { // no descriptor or memory is left, so an immediate retry is useless
            ++server_.count().accept_failures;
            co_await ekiden::sleep_for(100ms);
        } else if (server_.has_room()) {
            socket.set_option(tcp::no_delay(true), ignored);
            server_.add(std::make_shared<tcp_connection>(server_, std::move(socket)));
        } else {
            ++server_.count().refused;
            std::string text;
            encoding::error(text, "max number of clients reached");
            socket.non_blocking(true, ignored);
            socket.write_some(asio::buffer(text), ignored);
        }
    }
}

// ---- metrics: the answer to any HTTP request except that for the live page

ekiden::coroutine<> tcp_server::serve_metrics() {
    for (;;) {
        tcp::socket reader(readers_.get_executor());
        const auto [error] = co_await readers_.async_accept(reader, ekiden::use_awaitable.as_tuple);
        if (error)
            co_await ekiden::sleep_for(1s); // by then, the system may have free descriptors
        else if (readers_now_ < most_readers)
            begin(answer(std::move(reader)));
    }
}

/// A browser opens connections on which it sends nothing, so such a reader must not delay the others.
ekiden::coroutine<> tcp_server::answer(tcp::socket reader) {
    ++readers_now_;
    try {
        co_await ekiden::with_timeout(1s, send_page(reader));
    } catch (const std::system_error&) { // the reader was too slow or has disconnected
    }
    --readers_now_;
}

ekiden::coroutine<> tcp_server::send_page(tcp::socket& reader) {
    std::string bytes;
    co_await asio::async_read_until(reader, asio::dynamic_buffer(bytes, 8 * 1024), "\r\n\r\n",
                                    ekiden::use_awaitable);
    if (bytes.starts_with("GET / ")) {
        bytes = "HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";
        bytes += ekiden::live_page();
    } else {
        ekiden::prometheus_page page;
        server_.add_to(page);
        add_metrics(page, pool_.metrics(), "work");
        add_metrics(page, slow_tasks_, "work");
        bytes = "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n" + page.text();
    }
    co_await asio::async_write(reader, asio::buffer(bytes), ekiden::use_awaitable);
}

} // namespace ordered
