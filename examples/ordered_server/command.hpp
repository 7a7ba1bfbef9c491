/// The meaning of a request's words. Pure: words in, command out.
#pragma once

#include <ordered_server/options.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace ordered {

enum class verb : std::uint8_t {
    add, ///< ADD key n: adds n. Reply: [running number, total]
    /// WORK key n: adds n draws of a random generator, which takes time. Reply: [running number, total].
    work,
    /// WAIT key ms: waits ms milliseconds inside of its turn, so that later requests of the key wait, too. No
    /// thread waits meanwhile. Reply: [running number, total].
    wait,
    get,   ///< GET key. Reply: [running number, total], or null for a key that was never used
    reset, ///< RESET key: starts again with [0, 0]
    /// MSET key n [key n ...]: sets the totals. The last n of a key counts. Reply: OK.
    mset,
    mget, ///< MGET key [key ...]. Reply: an array with the reply to GET for each key
    /// TRANSFER from to n: subtracts n from one total and adds n to another one. Reply: OK.
    transfer,
    info,  ///< INFO: the server supplies the text
    text,  ///< the reply is known already: PING, CONFIG GET, COMMAND
    error, ///< like text, but the reply is an error
    quit   ///< like text, and then the connection ends
};
inline constexpr const char* verb_names[] = {"add",  "work",     "wait", "get",   "reset", "mset",
                                             "mget", "transfer", "info", "other", "error", "quit"};
[[nodiscard]] constexpr bool is_about_key(verb v) { return v <= verb::reset; }
[[nodiscard]] constexpr bool has_several_keys(verb v) { return v >= verb::mset && v <= verb::transfer; }

struct key_and_total {
    std::string_view key; ///< points into the words
    std::int64_t total = 0;
};

struct command {
    verb what = verb::text;
    std::string_view key = {}; ///< points into the words
    std::int64_t n = 0;
    std::vector<key_and_total> several = {}; ///< MSET, MGET, TRANSFER: the keys, and the totals of MSET
    std::string text = {};                   ///< the reply, if it is known already
};

[[nodiscard]] command refusal(std::string_view why);

/// `words` must have at least one element. Mistakes of the client become error replies.
[[nodiscard]] command interpret(std::span<const std::string_view> words, const options& chosen);

} // namespace ordered
