/// What the server does with its clients, whatever carries their bytes: sockets in tcp_server.hpp, a
/// simulated network in tests/unit/sim_server.
///
/// It knows two executors. The network runs one function at a time, and has all that is here alone; the
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
    /// The network has work until the server has ended; then `ended` is called.
    server(const ekiden::any_executor& network, const ekiden::any_executor& workers, const options& chosen,
           const desk_maker& make_desk, std::function<void()> ended);

    // ---- all on the network

    [[nodiscard]] bool has_room() const { return connections_.size() < chosen_.limit.connections; }
    /// A client has come. Not after end().
    void add(const std::shared_ptr<connection>& fresh);
    /// Takes nothing more, and ends when all requests that were accepted are answered, or after the grace.
    /// The second time: now.
    void end();
    void add_to(ekiden::prometheus_page& page) const;

    // ---- for connections

    [[nodiscard]] const ekiden::any_executor& network() const { return network_; }
    [[nodiscard]] const options& chosen() const { return chosen_; }
    [[nodiscard]] counters& count() { return count_; }
    [[nodiscard]] ledger& keys() { return keys_; }
    [[nodiscard]] desk& work() { return *desk_; }
    [[nodiscard]] std::string info() const;
    void forget(connection& closed);

private:
    bool arrived(request* first);
    void end_now();
    void end_if_empty();

    const options chosen_;
    const ekiden::any_executor network_;
    ekiden::executor_work_guard<ekiden::any_executor> open_; // until the end: requests may be under way
    const std::function<void()> ended_;
    counters count_;
    ledger keys_;
    std::map<std::uint64_t, std::shared_ptr<connection>> connections_; // by their number
    bool is_ending_ = false;
    way_back back_;
    std::unique_ptr<desk> desk_;
    ekiden::steady_timer grace_;
};

} // namespace ordered
