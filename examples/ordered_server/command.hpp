/// What the words of a request ask for. Pure: words in, command out.
#pragma once

#include <ordered_server/options.hpp>

#include <span>
#include <string_view>

namespace ordered {

enum class verb : std::uint8_t {
    add,   ///< ADD key n: adds n; [running number, total]
    work,  ///< WORK key n: adds n draws of a random generator, which takes time; [running number, total]
    get,   ///< GET key: [running number, total]; null for a key that was never used
    reset, ///< RESET key: begins again with [0, 0]
    info,  ///< INFO: the server knows the text
    text,  ///< answered already: PING, CONFIG GET, COMMAND
    error, ///< the same; the text is an error
    quit   ///< the same, and the connection ends
};
inline constexpr const char* verb_names[] = {"add", "work", "get", "reset", "info", "other", "error", "quit"};
[[nodiscard]] constexpr bool is_about_key(verb v) { return v <= verb::reset; }

struct command {
    verb what = verb::text;
    std::string_view key = {}; ///< of the words
    std::int64_t n = 0;
    std::string text = {}; ///< the reply
};

[[nodiscard]] command refusal(std::string_view why);

/// `words` has one at least. Mistakes of the client become error replies.
[[nodiscard]] command interpret(std::span<const std::string_view> words, const options& chosen);

} // namespace ordered
