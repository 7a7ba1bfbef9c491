/// The server: accepts clients, and ends when all that was accepted is answered.
///
/// Two kinds of threads: the one in run() does all that has to do with sockets, by Asio; those of the pool
/// run requests, by ekiden. What the first one has, it has alone.
#pragma once

#include <ordered_server/connection.hpp>
#include <ordered_server/desk.hpp>
#include <ordered_server/metrics.hpp>
#include <ordered_server/metrics_page.hpp>

#include <asio/executor_work_guard.hpp>
#include <asio/signal_set.hpp>

namespace ordered {

class server {
public:
    /// Listens. Throws std::system_error if a port cannot be had.
    explicit server(const options& chosen, const desk_maker& make_desk = make_lane_desk);

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] std::uint16_t metrics_port() const { return page_.port(); }

    /// Serves, and returns some time after stop(). Without memory it ends the program.
    void run() noexcept;
    /// Accepts nothing more, and ends when all requests that were accepted are answered, or after the grace.
    /// The second time: now. Any thread, also before run().
    void stop();
    /// Has SIGINT and SIGTERM do that.
    void stop_on_signals();

    /// While run() does not run.
    [[nodiscard]] const counters& count() const { return count_; }

    // ---- for connections, on the network's thread

    [[nodiscard]] const options& chosen() const { return chosen_; }
    [[nodiscard]] counters& count() { return count_; }
    [[nodiscard]] ledger& keys() { return keys_; }
    [[nodiscard]] desk& work() { return *desk_; }
    [[nodiscard]] ekiden::thread_pool& pool() { return pool_; }
    [[nodiscard]] asio::io_context& network() { return network_; }
    [[nodiscard]] std::string info() const;
    void forget(connection& closed);

private:
    [[nodiscard]] std::string metrics() const;
    void accept();
    void accepted(const std::error_code& error, asio::ip::tcp::socket socket);
    void arrived(request* first);
    void begin_end();
    void end_now();
    void end_if_empty();
    void after(std::chrono::milliseconds time, void (server::*what)());

    const options chosen_;
    asio::io_context network_{1};
    asio::ip::tcp::acceptor clients_;
    const std::uint16_t port_;
    asio::executor_work_guard<asio::io_context::executor_type>
        open_; // until the end: requests may be under way
    asio::signal_set signals_;
    counters count_;
    ledger keys_;
    std::unordered_map<connection*, std::shared_ptr<connection>> connections_;
    bool is_ending_ = false;

    way_back back_;
    ekiden::thread_pool pool_;
    std::unique_ptr<desk> desk_;
    metrics_page page_;
    ekiden::steady_timer timer_; // the grace; before, until the system may have room for connections again
};

} // namespace ordered
