/// The requests of a client, and the meaning of the replies for a key: exactly which requests the key has
/// processed.
///
/// Each ADD to a key adds a different power of two, so a total identifies a set of requests. A WORK of one
/// draw adds a number that is larger than the sum of these powers, so the total counts both.
#pragma once

#include <ekiden/sim/checks.hpp>

#include <bit>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sim_server {

// The first draw of the generator with its default seed.
inline constexpr std::int64_t one_draw = 3'499'211'612;
inline constexpr unsigned most_bits = 31;

using moment = std::chrono::steady_clock::time_point;

/// The model checks the replies to requests of the kind `several`.
enum class kind : std::uint8_t { add, work, get, several, ping, quit, unheard };

struct request {
    kind what;
    unsigned key = 0;
    std::int64_t bit = 0;
    std::string text;    // the text that is sent
    std::size_t end = 0; // position of its end in all text that the client sends
};

/// All requests of one client. Requests after a QUIT are ignored.
struct script {
    std::vector<request> requests;
    std::string bytes;

    void add(request one) {
        bytes += one.text;
        one.end = bytes.size();
        requests.push_back(std::move(one));
    }
    /// Returns how many requests must be answered if `size` bytes reach the server.
    [[nodiscard]] std::size_t heard_in(std::size_t size) const {
        std::size_t count = 0;
        for (const request& r : requests) count += r.end <= size && r.what != kind::unheard ? 1 : 0;
        return count;
    }
    /// Returns the bits that the first `count` requests add to a key.
    [[nodiscard]] std::int64_t bits_of(unsigned key, std::size_t count) const {
        std::int64_t bits = 0;
        for (std::size_t i = 0; i != count && i != requests.size(); ++i) {
            if (requests[i].key == key) bits |= requests[i].bit;
        }
        return bits;
    }
};

/// What a client must get for a request that was placed.
struct expected_reply {
    std::vector<std::string> lines;
    moment earliest; ///< the WAITs before it take until then
};

/// The counters of a connection, and the replies that it must get.
struct account_of_bytes {
    std::size_t delivered = 0; ///< bytes that the server received while it accepted requests
    std::size_t written = 0;   ///< number of replies
    bool is_given_up = false;  ///< closed by a deadline, or by the end of the grace period
    std::deque<expected_reply> expected{};
};

/// Removes a reply from the front. Returns its lines, of which the first has the kind. Empty if the reply is
/// not complete.
inline std::optional<std::vector<std::string>> take_reply(std::string& bytes) {
    std::vector<std::string> lines;
    std::size_t at = 0;
    for (std::size_t missing = 1; missing != 0; --missing) {
        const std::size_t end = bytes.find("\r\n", at);
        if (end == std::string::npos) return {};
        lines.push_back(bytes.substr(at, end - at));
        at = end + 2;
        if (lines.back().starts_with('*')) missing += std::stoul(lines.back().substr(1));
        if (lines.back().starts_with('$') && lines.back() != "$-1") ++missing;
    }
    bytes.erase(0, at);
    return lines;
}

/// The known states of a key.
class key_history {
public:
    struct state {
        std::int64_t bits;
        std::int64_t works;
    };
    /// Splits a total that belongs to this number.
    static state decode(std::int64_t number, std::int64_t total) {
        const state now{total % one_draw, total / one_draw};
        ekiden::sim::expect(std::popcount(static_cast<std::uint64_t>(now.bits)) + now.works == number,
                            "a key's number counts what its total is made of");
        return now;
    }
    /// Records the reply to a request that has changed the key.
    void changed(std::int64_t number, state now) {
        ekiden::sim::expect(known_.try_emplace(number, now).second, "each number is given once");
    }
    /// Checks that each total extends the previous one, up to the last number.
    void close(std::int64_t number, state last) {
        known_.try_emplace(number, last);
        ekiden::sim::expect(known_.rbegin()->first == number, "no reply is ahead of its key");
        state before{0, 0};
        for (const auto& [at, now] : known_) {
            ekiden::sim::expect((before.bits & ~now.bits) == 0 && before.works <= now.works,
                                "a key's total holds what it held before");
            before = now;
        }
    }

private:
    std::map<std::int64_t, state> known_;
};

} // namespace sim_server
