/// The logic of the server, independent of the transport. tcp_server.hpp transports bytes over sockets, and
/// tests/unit/sim_server over a simulated network.
///
/// It uses two executors. The network runs one function at a time, and only it uses the data here. The
/// workers run requests.
#pragma once

#include <ordered_server/connection.hpp>
#include <ordered_server/desk.hpp>
#include <ordered_server/metrics.hpp>

#include <ekiden/execution.hpp>

#include <map>

namespace ordered {

class server {
public:
    /// Keeps the network running until the server has ended. Then calls `ended`.
    server(const ekiden::any_executor& network, const ekiden::any_executor& workers, const options& chosen,
           const desk_maker& make_desk, std::function<void()> ended);

    // ---- call all of these on the network

    [[nodiscard]] bool has_room() const { return connections_.size() < chosen_.limit.connections; }
    /// Adds a new client. Not after end().
    void add(const std::shared_ptr<connection>& fresh);
    /// Accepts no more requests. Ends when all accepted requests are answered, or after the grace period. A
    /// second call ends it immediately.
    void end();
    void add_to(ekiden::prometheus_page& page) const;

    // ---- called by connections

    [[nodiscard]] const ekiden::any_executor& network() const { return network_; }
    [[nodiscard]] const options& chosen() const { return chosen_; }
    [[nodiscard]] counters& count() { return count_; }
    [[nodiscard]] ledger& keys() { return keys_; }
    [[nodiscard]] desk& work() { return *desk_; }
    [[nodiscard]] std::string info() const;
    void forget(connection& closed);
    /// Gives the turn of a connection that now waits for another account to the next connection.
    void pass_on_turn(account& of);

private:
    bool arrived(request* first);
    static std::shared_ptr<connection> give_turn(account& of);
    void end_now();
    void end_if_empty();

    const options chosen_;
    const ekiden::any_executor network_;
    // Keeps the network running until the end, because requests may be under way.
    ekiden::executor_work_guard<ekiden::any_executor> open_;
    const std::function<void()> ended_;
    counters count_;
    ledger keys_;
    std::map<std::uint64_t, std::shared_ptr<connection>> connections_; // by number
    bool is_ending_ = false;
    way_back back_;
    std::unique_ptr<desk> desk_;
    ekiden::steady_timer grace_;
};

} // namespace ordered
