/// A server and its clients, on two contexts with one thread each. Style defines how they start.
///
/// Used by: socket-echo. `Contexts` has the type `context` with run() and restart(), and
/// executor_of(context), which is the executor of the sockets. `Style` has serve(server) and ask(client,
/// asker). Server and client are constructed from a socket.
#pragma once

#include <lab/experiments/socket-echo/callbacks.hpp>

#include <deque>
#include <thread>
#include <vector>

namespace lab::socket_echo {

template <class Contexts, class Style>
class echo {
public:
    explicit echo(const ends& all) {
        for (const int one : all.servers) {
            servers_.emplace_back(adopt(Contexts::executor_of(serving_), one));
            Style::serve(servers_.back());
        }
        for (const int one : all.clients) clients_.emplace_back(adopt(Contexts::executor_of(asking_), one));
        server_ = std::thread([this] { serving_.run(); });
    }

    ~echo() {
        clients_.clear(); // then the servers read the end, and their context has no more work
        server_.join();
    }

    usage pass(cell& c, std::vector<asker>& askers) {
        for (std::size_t i = 0; i < askers.size(); ++i) Style::ask(clients_[i], askers[i]);
        const usage used = c.measure([this] { asking_.run(); });
        asking_.restart();
        return used;
    }

private:
    typename Contexts::context serving_{1};
    typename Contexts::context asking_{1};
    std::deque<typename Style::server> servers_;
    std::deque<typename Style::client> clients_;
    std::thread server_;
};

} // namespace lab::socket_echo
