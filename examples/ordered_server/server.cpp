#include <ordered_server/encoding.hpp>
#include <ordered_server/server.hpp>

namespace ordered {

server::server(const ekiden::any_executor& network, const ekiden::any_executor& workers,
               const options& chosen, const desk_maker& make_desk, std::function<void()> ended)
    : chosen_(chosen), network_(network), open_(network), ended_(std::move(ended)), keys_(chosen.limit.keys),
      back_(network, chosen.deadline.collect, [this](request* first) { return arrived(first); }),
      desk_(make_desk(workers, chosen_, back_)), grace_(network) {}

void server::add(const std::shared_ptr<connection>& fresh) {
    fresh->number = ++count_.connections;
    connections_.emplace(fresh->number, fresh);
    fresh->proceed();
}

/// Requests have come back, oldest first. Each affected connection proceeds once: the owners of the requests,
/// and the connections that wait for room in their lanes. Returns true if many requests are still under way,
/// so that more can be collected.
bool server::arrived(request* first) {
    std::vector<std::shared_ptr<connection>> concerned;
    const auto list = [&concerned](std::shared_ptr<connection> one) {
        if (!one->is_closed() && !std::exchange(one->is_listed, true)) concerned.push_back(std::move(one));
    };
    while (first != nullptr) {
        request& r = *first; // destroyed together with its connection after came_back()
        first = static_cast<request*>(r.next);
        connection& owner = r.owner;
        list(owner.shared_from_this());
        --count_.under_way;
        r.for_each_account([&](account& of) {
            --of.under_way;
            if (auto next = give_turn(of)) list(std::move(next));
        });
        owner.came_back(r);
    }
    for (const auto& one : concerned) one->is_listed = false;
    for (const auto& one : concerned) one->proceed();
    return count_.under_way > chosen_.limit.under_way;
}

/// Lets the first connection that waits for an account ask for room. Returns null if no connection waits.
std::shared_ptr<connection> server::give_turn(account& of) {
    while (!of.waiting.empty()) {
        auto next = of.waiting.front().lock();
        of.waiting.pop_front();
        if (!next || next->is_closed()) continue;
        next->has_turn(of);
        return next;
    }
    return nullptr;
}

void server::pass_on_turn(account& of) {
    network_.post([&of] {
        if (const auto next = give_turn(of)) next->proceed();
    });
}

// ---- shutdown

void server::forget(connection& closed) {
    connections_.erase(closed.number);
    if (is_ending_) end_if_empty();
}

void server::end() {
    if (std::exchange(is_ending_, true)) return end_now();
    grace_.expires_after(chosen_.deadline.grace);
    grace_.async_wait([this](std::error_code canceled) {
        if (!canceled) end_now();
    });
    const auto all = connections_; // a copy, because finish() may remove a connection
    for (const auto& [number, one] : all) one->finish();
    end_if_empty();
}

void server::end_now() {
    desk_->give_up();
    const auto all = connections_;
    for (const auto& [number, one] : all) one->abort();
}

/// Ends all outstanding work of the network if there are no connections.
void server::end_if_empty() {
    if (!connections_.empty()) return;
    grace_.cancel();
    open_.reset();
    ended_();
}

// ---- metrics

void server::add_to(ekiden::prometheus_page& page) const {
    page.gauge("ordered_server_open_connections", "Connections now.",
               static_cast<double>(connections_.size()));
    page.gauge("ordered_server_keys", "Keys.", static_cast<double>(keys_.size()));
    count_.add_to(page);
    desk_->add_to(page);
}

std::string server::info() const {
    std::string text = "# Server\r\nserver:ekiden ordered_server\r\n";
    const std::pair<const char*, std::uint64_t> lines[] = {
        {"connected_clients:", connections_.size()},
        {"maxclients:", chosen_.limit.connections},
        {"total_connections_received:", count_.connections},
        {"total_commands_processed:", count_.replies},
        {"keys:", keys_.size()}};
    for (const auto& [name, value] : lines) text.append(name).append(std::to_string(value)).append("\r\n");
    std::string reply;
    encoding::bulk(reply, text);
    return reply;
}

} // namespace ordered
