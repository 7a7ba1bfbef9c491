/// The meaning of a request's words. Pure: words in, command out.
#pragma once

#include <ordered_server/options.hpp>

#include <span>
#include <string_view>

namespace ordered {

enum class verb : std::uint8_t {
    add, ///< ADD key n: adds n. Reply: [running number, total]
    /// WORK key n: adds n draws of a random generator, which takes time. Reply: [running number, total].
    work,
    get,   ///< GET key. Reply: [running number, total], or null for a key that was never used
    reset, ///< RESET key: starts again with [0, 0]
    info,  ///< INFO: the server supplies the text
    text,  ///< the reply is known already: PING, CONFIG GET, COMMAND
    error, ///< like text, but the reply is an error
    quit   ///< like text, and then the connection ends
};
inline constexpr const char* verb_names[] = {"add", "work", "get", "reset", "info", "other", "error", "quit"};
[[nodiscard]] constexpr bool is_about_key(verb v) { return v <= verb::reset; }

struct command {
    verb what = verb::text;
    std::string_view key = {}; ///< points into the words
    std::int64_t n = 0;
    std::string text = {}; ///< the reply, if it is known already
};

[[nodiscard]] command refusal(std::string_view why);

/// `words` must have at least one element. Mistakes of the client become error replies.
[[nodiscard]] command interpret(std::span<const std::string_view> words, const options& chosen);

} // namespace ordered
