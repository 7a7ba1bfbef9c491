/// The server on sockets. Clients connect by TCP, and signals end the server. A second port serves the
/// metrics, and a page that shows them.
///
/// There are two kinds of threads. The thread in run() is the network, and waits for sockets by Asio. The
/// threads of the pool are the workers.
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
    /// Starts to listen. Throws std::system_error if a port cannot be used.
    explicit tcp_server(const options& chosen, const desk_maker& make_desk = make_lane_desk);

    // These are valid until stop().
    [[nodiscard]] std::uint16_t port() const { return clients_.local_endpoint().port(); }
    [[nodiscard]] std::uint16_t metrics_port() const { return readers_.local_endpoint().port(); }

    /// Serves clients. Returns some time after stop(). Terminates the program if there is no memory.
    void run() noexcept;
    /// Accepts no more requests. Ends when all accepted requests are answered, or after the grace period. A
    /// second call ends it immediately. Any thread, also before run().
    void stop();
    /// Makes SIGINT and SIGTERM call stop().
    void stop_on_signals();

    /// Call it only while run() does not run.
    [[nodiscard]] const counters& count() { return server_.count(); }

private:
    using tcp = asio::ip::tcp;

    void begin(ekiden::coroutine<> activity);
    void end();
    ekiden::coroutine<> accept();
    ekiden::coroutine<> await_signals();
    ekiden::coroutine<> serve_metrics();
    ekiden::coroutine<> answer(tcp::socket reader);
    ekiden::coroutine<> send_page(tcp::socket& reader);

    ekiden::loop_context network_{1};
    tcp::acceptor clients_;
    tcp::acceptor readers_; // accepts readers of the metrics
    asio::signal_set signals_;
    std::stop_source ended_; // stops all coroutines
    ekiden::slow_task_history slow_tasks_;
    ekiden::thread_pool pool_;
    server server_;
    unsigned readers_now_ = 0;
};

} // namespace ordered
