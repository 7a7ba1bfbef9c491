#include <ordered_server/encoding.hpp>
#include <ordered_server/server.hpp>

#include <csignal>

namespace ordered {

using asio::ip::tcp;

server::server(const options& chosen, const desk_maker& make_desk)
    : chosen_(chosen), clients_(network_, tcp::endpoint(asio::ip::make_address(chosen.address), chosen.port)),
      port_(clients_.local_endpoint().port()), open_(network_.get_executor()), signals_(network_),
      keys_(chosen.limit.keys), back_(network_, [this](request* first) { arrived(first); }),
      pool_({.threads = chosen.threads, .name = "work"}), desk_(make_desk(pool_, chosen_, back_)),
      page_(network_, pool_, tcp::endpoint(asio::ip::make_address(chosen.address), chosen.metrics_port),
            [this] { return metrics(); }),
      timer_(pool_) {}

void server::run() noexcept {
    accept();
    page_.accept();
    network_.run();
    desk_->join();
}

// ---- clients

void server::accept() {
    if (is_ending_) return;
    clients_.async_accept(
        [this](const std::error_code& error, tcp::socket socket) { accepted(error, std::move(socket)); });
}

void server::accepted(const std::error_code& error, tcp::socket socket) {
    if (is_ending_) return;
    if (error) { // no descriptor or memory is left: trying at once would only burn time
        ++count_.accept_failures;
        return after(std::chrono::milliseconds(100), &server::accept);
    }
    ++count_.connections;
    if (connections_.size() < chosen_.limit.connections) {
        std::error_code ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        auto fresh = std::make_shared<connection>(*this, std::move(socket));
        connections_.emplace(fresh.get(), fresh);
        fresh->proceed();
    } else {
        ++count_.refused;
        std::string text;
        encoding::error(text, "max number of clients reached");
        std::error_code ignored;
        socket.non_blocking(true, ignored);
        socket.write_some(asio::buffer(text), ignored);
    }
    accept();
}

/// Requests have come back, oldest first. Each connection that this concerns proceeds once: those whose
/// requests they were, and those that wait for the room that they have left in their lanes.
void server::arrived(request* first) {
    std::vector<std::shared_ptr<connection>> concerned;
    const auto list = [&concerned](std::shared_ptr<connection> one) {
        if (!one->is_closed() && !std::exchange(one->is_listed, true)) concerned.push_back(std::move(one));
    };
    while (first != nullptr) {
        request& r = *std::exchange(first, first->next); // gone with its connection after came_back()
        account& of = *r.of;
        connection& owner = r.owner;
        list(owner.shared_from_this());
        owner.came_back(r);
        --of.under_way;
        for (bool is_given = false; !is_given && !of.waiting.empty(); of.waiting.pop_front()) {
            auto next = of.waiting.front().lock();
            is_given = next && !next->is_closed();
            if (!is_given) continue;
            next->has_turn();
            list(std::move(next));
        }
    }
    for (const auto& one : concerned) one->is_listed = false;
    for (const auto& one : concerned) one->proceed();
}

void server::forget(connection& closed) {
    connections_.erase(&closed);
    if (is_ending_) end_if_empty();
}

// ---- the end

void server::stop_on_signals() {
    for (const int one : {SIGINT, SIGTERM}) signals_.add(one);
    signals_.async_wait([this](const std::error_code& cancelled, int) {
        if (cancelled) return;
        stop();
        stop_on_signals();
    });
}

void server::stop() {
    asio::post(network_, [this] { is_ending_ ? end_now() : begin_end(); });
}

void server::begin_end() {
    is_ending_ = true;
    std::error_code ignored;
    clients_.close(ignored);
    after(chosen_.deadline.grace, &server::end_now);
    const auto all = connections_; // finish() may forget
    for (const auto& [key, one] : all) one->finish();
    end_if_empty();
}

void server::end_now() {
    desk_->give_up();
    const auto all = connections_;
    for (const auto& [key, one] : all) one->abort();
}

/// Takes back all that run() waits for.
void server::end_if_empty() {
    if (!connections_.empty()) return;
    std::error_code ignored;
    signals_.cancel(ignored);
    timer_.cancel();
    page_.close();
    open_.reset();
}

/// Calls a function of the server on the network's thread after some time.
void server::after(std::chrono::milliseconds time, void (server::*what)()) {
    timer_.expires_after(time);
    timer_.async_wait([this, what](std::error_code cancelled) {
        if (!cancelled) asio::post(network_, [this, what] { (this->*what)(); });
    });
}

// ---- metrics

std::string server::metrics() const {
    ekiden::prometheus_page page;
    page.gauge("ordered_server_open_connections", "Connections now.",
               static_cast<double>(connections_.size()));
    page.gauge("ordered_server_keys", "Keys.", static_cast<double>(keys_.size()));
    count_.add_to(page);
    desk_->add_to(page);
    return page.text();
}

std::string server::info() const {
    std::string text = "# Server\r\nserver:ekiden ordered_server\r\n";
    const auto line = [&text](const char* name, auto value) {
        text.append(name).append(":").append(std::to_string(value)).append("\r\n");
    };
    line("tcp_port", port_);
    line("worker_threads", pool_.thread_count());
    line("connected_clients", connections_.size());
    line("maxclients", chosen_.limit.connections);
    line("total_connections_received", count_.connections);
    line("total_commands_processed", count_.replies);
    line("keys", keys_.size());
    std::string reply;
    encoding::bulk(reply, text);
    return reply;
}

} // namespace ordered
