/// Bytes in, requests out: the Redis protocol as clients speak it, arrays of bulk strings and inline
/// commands.
///
/// It knows no sockets, does not recurse, and takes memory for bytes that have come, never for bytes that a
/// length announces. Requests that come whole are not copied. Fuzzed: tests/fuzz.
#pragma once

#include <ordered_server/options.hpp>

#include <optional>
#include <span>
#include <string_view>
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

    /// The words of the request, at least one. Valid until the next call of parse(), and as long as the
    /// input.
    [[nodiscard]] std::span<const std::string_view> words() const { return words_; }
    [[nodiscard]] const std::string& error() const { return error_; }
    /// Whether a request has begun and not ended.
    [[nodiscard]] bool is_inside() const { return is_inside_; }

private:
    // All take from the front. False, or nothing: more is needed, or it is broken.
    bool take_array(std::string_view& bytes);
    bool take_inline(std::string_view& bytes);
    std::optional<std::string_view> take_line(std::string_view& bytes, std::size_t longest);
    std::optional<std::int64_t> take_number(std::string_view& bytes, const char* what, std::int64_t least,
                                            std::size_t most);
    bool fail(const std::string& why);

    limits limit_;
    std::string part_; // of a request, as far as it has come; a request that has come in parts
    bool is_inside_ = false;
    std::string unquoted_; // the words of an inline request
    std::vector<std::string_view> words_;
    std::string error_;
};

} // namespace ordered
