/// The server on sockets: its clients come by TCP, and end by signals; a second port tells what it counts.
///
/// Two kinds of threads: the one in run() is the network, and waits for the system by Asio; those of the pool
/// are the workers.
#pragma once

#include <ordered_server/server.hpp>

#include <ekiden/async.hpp>
#include <ekiden/loop.hpp>
#include <ekiden/pool.hpp>

#include <asio/ip/tcp.hpp>
#include <asio/signal_set.hpp>
#include <stop_token>

namespace ordered {

class tcp_server {
public:
    /// Listens. Throws std::system_error if a port cannot be had.
    explicit tcp_server(const options& chosen, const desk_maker& make_desk = make_lane_desk);

    // Until stop().
    [[nodiscard]] std::uint16_t port() const { return clients_.local_endpoint().port(); }
    [[nodiscard]] std::uint16_t metrics_port() const { return readers_.local_endpoint().port(); }

    /// Serves, and returns some time after stop(). Without memory it ends the program.
    void run() noexcept;
    /// Accepts nothing more, and ends when all requests that were accepted are answered, or after the grace.
    /// The second time: now. Any thread, also before run().
    void stop();
    /// Has SIGINT and SIGTERM do that.
    void stop_on_signals();

    /// While run() does not run.
    [[nodiscard]] const counters& count() { return server_.count(); }

private:
    using tcp = asio::ip::tcp;

    void begin(ekiden::coroutine<> activity);
    void end();
    ekiden::coroutine<> accept();
    ekiden::coroutine<> await_signals();
    ekiden::coroutine<> serve_metrics();
    ekiden::coroutine<> send_metrics(tcp::socket& reader);

    ekiden::loop_context network_{1};
    tcp::acceptor clients_;
    tcp::acceptor readers_; // of the metrics
    asio::signal_set signals_;
    std::stop_source ended_; // all coroutines
    ekiden::thread_pool pool_;
    server server_;
};

} // namespace ordered
