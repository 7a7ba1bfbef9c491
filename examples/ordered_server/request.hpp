/// A request between its coming and its reply, and the key that it is about.
#pragma once

#include <ordered_server/command.hpp>

#include <list>
#include <memory>
#include <unordered_map>

namespace ordered {

class connection;

/// What the server knows of a key.
struct account {
    account(std::string_view k, std::size_t i) : key(k), index(i) {}

    const std::string key;
    const std::size_t index; // among all keys
    // Plain, for the requests of a key run one at a time: in the key's lane, or on the network's thread while
    // that has handed over none of them.
    std::int64_t number = 0; // of requests that have changed the total
    std::int64_t total = 0;
    // The network thread's.
    std::size_t under_way = 0;                    // handed over, and not back
    std::list<std::weak_ptr<connection>> waiting; // for room in the lane, in their order
};

/// All keys. The network's thread alone finds and adds them: no lock. An account stays where it is.
class ledger {
public:
    explicit ledger(std::size_t most) : most_(most) {}

    /// Null if there is none, and none may be added, or there are too many.
    [[nodiscard]] account* find(std::string_view key, bool may_add);
    [[nodiscard]] std::size_t size() const { return accounts_.size(); }

private:
    std::size_t most_;
    std::unordered_map<std::string_view, std::unique_ptr<account>> accounts_; // the names lie in the accounts
};

/// In the list of those that come back.
struct request_link {
    request_link* next = nullptr;
};

/// Lies in its connection from its coming to its reply; the thread that runs it has a reference meanwhile.
struct request : request_link {
    request(connection& came_by, verb asked, std::int64_t number_asked)
        : owner(came_by), what(asked), n(number_asked) {}

    /// Does what is asked for. One thread at a time for each key.
    void run() noexcept;
    /// Appends the reply.
    void encode(std::string& to) const;

    connection& owner;
    account* of = nullptr;
    const verb what;
    bool is_done = false; // the network thread's: the reply may be sent
    bool is_overflow = false;
    const std::int64_t n;
    std::int64_t number = 0; // the reply, if it is not the text
    std::int64_t total = 0;
    std::string text;
};

} // namespace ordered
