/// Bytes in, requests out: the Redis protocol as clients speak it, arrays of bulk strings and inline
/// commands.
///
/// It knows no sockets, does not recurse, and takes memory for bytes that have come, never for bytes that a
/// length announces. Fuzzed: tests/fuzz.
#pragma once

#include <ordered_server/options.hpp>

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace ordered {

class request_parser {
public:
    explicit request_parser(const limits& limit) : limit_(limit) {}

    enum class result {
        need_more, ///< all bytes are taken, and no request is complete
        request,   ///< words() are it; bytes behind it are left in the input
        broken     ///< error() says why; nothing that follows can be understood
    };
    /// Takes bytes from the front of `input`, up to the end of a request. After `broken` always that.
    result parse(std::string_view& input);

    /// The words of the request, at least one. Valid until the next call of parse().
    [[nodiscard]] std::span<const std::string_view> words() const { return words_; }
    [[nodiscard]] const std::string& error() const { return error_; }
    /// Whether a request has begun and not ended.
    [[nodiscard]] bool is_inside() const { return expected_ != 0 || !line_.empty(); }

private:
    bool take_line(std::string_view& input);
    bool take_word(std::string_view& input);
    void begin_array();
    void begin_word();
    void split();
    bool take_quoted(std::string_view& line);
    std::optional<std::size_t> number_on_line(std::size_t most) const;
    void fail(const std::string& why) { error_ = "Protocol error: " + why; }

    limits limit_;
    std::string line_;         // as far as it has come, without its end
    std::size_t expected_ = 0; // words of the array; 0 between requests
    std::size_t missing_ = 0;  // bytes of this word and of the line end behind it; 0: a line is next
    std::string bytes_;        // of all words
    std::vector<std::pair<std::size_t, std::size_t>> places_; // first byte and length of each word
    std::vector<std::string_view> words_;
    std::string error_;
};

} // namespace ordered
