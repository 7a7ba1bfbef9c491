/// A sequential model of all keys, and of the time that requests wait. It runs the requests one after the
/// other, in the order in which the server has placed them. It shares no code with the server.
#pragma once

#include "script.hpp"

#include <ordered_server/request.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace sim_server {

class model {
public:
    struct state {
        std::int64_t number = 0;
        std::int64_t total = 0;
        bool operator==(const state&) const = default;
    };

    /// Runs a request that was placed at the time `now`, and returns the reply that the client must get.
    expected_reply run(ordered::request& r, moment now) {
        r.for_each_account([&](const ordered::account& a) { now = std::max(now, free_[a.key]); });
        if (r.what == ordered::verb::wait) {
            now += std::chrono::milliseconds(r.n);
            first_wait_.try_emplace(r.of->key, now);
        }
        // Requests that read may run at the same time, so later requests need not wait for them.
        if (r.what != ordered::verb::mget && r.what != ordered::verb::get)
            r.for_each_account([&](const ordered::account& a) { free_[a.key] = now; });
        return {lines_of(r), now};
    }
    [[nodiscard]] state at(const std::string& key) { return keys_[key]; }
    /// Returns whether a WAIT of the key may have ended until the time `now`.
    [[nodiscard]] bool has_waited(const std::string& key, moment now) const {
        const auto found = first_wait_.find(key);
        return found != first_wait_.end() && found->second <= now;
    }

private:
    std::vector<std::string> lines_of(const ordered::request& r) {
        using ordered::verb;
        std::vector<std::string> lines;
        switch (r.what) {
        case verb::add:
            return added(r.of->key, r.n);
        case verb::work:
            return added(r.of->key, r.n * one_draw);
        case verb::wait:
            return added(r.of->key, 0);
        case verb::get:
            return pair_of(r.of->key);
        case verb::mset:
            for (const ordered::part& p : r.several) {
                state& s = keys_[p.of->key];
                s = {s.number + 1, p.total};
            }
            return {"+OK"};
        case verb::mget:
            lines = {"*" + std::to_string(r.several.size())};
            for (const ordered::part& p : r.several) {
                const auto one = p.of != nullptr ? pair_of(p.of->key) : std::vector<std::string>{"$-1"};
                lines.insert(lines.end(), one.begin(), one.end());
            }
            return lines;
        default:
            return transferred(r.several[0].of->key, r.several[1].of->key, r.n);
        }
    }
    // The first draw of the generator with its default seed.
    static constexpr std::int64_t one_draw = 3'499'211'612;

    static bool is_beyond(std::int64_t total, std::int64_t more) {
        using limit = std::numeric_limits<std::int64_t>;
        return more > 0 ? total > limit::max() - more : total < limit::min() - more;
    }
    std::vector<std::string> added(const std::string& key, std::int64_t n) {
        if (is_beyond(keys_[key].total, n)) return {overflow};
        keys_[key].total += n;
        ++keys_[key].number;
        return pair_of(key);
    }
    std::vector<std::string> transferred(const std::string& from, const std::string& to, std::int64_t n) {
        if (is_beyond(keys_[from].total, -n) || is_beyond(keys_[to].total, n)) return {overflow};
        (void)added(from, -n);
        (void)added(to, n);
        return {"+OK"};
    }
    std::vector<std::string> pair_of(const std::string& key) {
        const state s = keys_[key];
        return {"*2", ":" + std::to_string(s.number), ":" + std::to_string(s.total)};
    }

    static constexpr const char* overflow = "-ERR the total would overflow";
    std::map<std::string, state> keys_;
    std::map<std::string, moment> first_wait_; // when the first WAIT of the key may end
    std::map<std::string, moment> free_;       // not before this time, the key's requests so far have ended
};

} // namespace sim_server
