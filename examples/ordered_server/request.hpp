/// A request from its arrival to its reply, and the accounts of its keys.
#pragma once

#include <ordered_server/command.hpp>

#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ordered {

class connection;

/// The data of one key.
struct account {
    account(std::string_view k, std::size_t i) : key(k), index(i) {}

    const std::string key;
    const std::size_t index; // number of this key, among all keys
    // Plain numbers, because the requests of a key run one at a time. They run in the key's lane, or on the
    // network thread while the lane has none of them.
    std::int64_t number = 0; // number of requests that have changed the total
    std::int64_t total = 0;
    // Only the network thread uses these.
    std::size_t under_way = 0;                    // number of requests that were handed over and are not back
    std::list<std::weak_ptr<connection>> waiting; // connections that wait for room in the lane, in order
};

/// All keys. Only the network thread finds and adds keys, so no lock is needed. An account never moves.
class ledger {
public:
    explicit ledger(std::size_t most) : most_(most) {}

    /// Returns null if the key is unknown and cannot be added: `may_add` is false, or there are too many
    /// keys.
    [[nodiscard]] account* find(std::string_view key, bool may_add);
    /// Returns whether all keys can be added. A key that is listed twice needs room twice.
    [[nodiscard]] bool has_room_for(std::span<const key_and_total> keys);
    [[nodiscard]] std::size_t size() const { return accounts_.size(); }

private:
    std::size_t most_;
    std::unordered_map<std::string_view, std::unique_ptr<account>> accounts_; // the accounts own the names
};

/// A link in the list of finished requests.
struct request_link {
    request_link* next = nullptr;
};

/// One of several keys of a request.
struct part {
    account* of;             ///< null if the key is unknown
    std::int64_t total;      ///< MSET: the new total. MGET: the reply
    std::int64_t number = 0; ///< MGET: the reply
};

/// Lies in its connection from its arrival to its reply. The thread that runs it refers to it meanwhile.
struct request : request_link {
    request(connection& came_by, verb asked, std::int64_t number_asked)
        : owner(came_by), what(asked), n(number_asked) {}

    /// Runs the request. Only one thread at a time for each key, or several threads that run MGET.
    void run() noexcept;
    /// Appends the reply to `to`.
    void encode(std::string& to) const;
    /// Returns the memory that the request uses because of its arguments, its reply or its coroutine, in
    /// bytes.
    [[nodiscard]] std::size_t bytes() const {
        constexpr std::size_t coroutine_bytes =
            3 * 1024; // of its frames, its timer and its place in the lane
        return text.size() + several.size() * sizeof(part) + (what == verb::wait ? coroutine_bytes : 0);
    }
    /// Calls `use` with each account of the request.
    template <class F>
    void for_each_account(F use) {
        if (of != nullptr) use(*of);
        for (const part& p : several) {
            if (p.of != nullptr) use(*p.of);
        }
    }

    connection& owner;
    account* of = nullptr;     // the account of the only key
    std::vector<part> several; // or the parts of several keys
    const verb what;
    bool is_done = false; // used by the network thread: whether the reply can be sent
    const std::int64_t n;
    const char* failure = nullptr; // the reply, if the request has failed
    std::int64_t number = 0;       // the reply, unless it is `text`
    std::int64_t total = 0;
    std::string text;

private:
    void run_several() noexcept;
};

} // namespace ordered
