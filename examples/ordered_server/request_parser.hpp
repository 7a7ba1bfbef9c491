/// Parses the Redis protocol as clients use it: arrays of bulk strings, and inline commands. Bytes in,
/// requests out.
///
/// It does not depend on sockets and does not recurse. It allocates memory only for bytes that have arrived,
/// never for an announced length. Requests that arrive completely are not copied. Fuzzed: tests/fuzz.
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
        need_more, ///< all bytes are consumed, and no request is complete
        request,   ///< words() is the request; the bytes after it are still in the input
        broken     ///< error() has the reason; the following bytes cannot be parsed
    };
    /// Consumes bytes from the front of `input`, up to the end of a request. After `broken`, it always
    /// returns `broken`.
    result parse(std::string_view& input);

    /// Returns the words of the request, at least one. Valid until the next call of parse(), and as long as
    /// the input exists.
    [[nodiscard]] std::span<const std::string_view> words() const { return words_; }
    [[nodiscard]] const std::string& error() const { return error_; }
    /// Returns whether a request is incomplete.
    [[nodiscard]] bool is_inside() const { return is_inside_; }

private:
    // These consume bytes from the front. They return false or nothing if more bytes are needed, or if the
    // input is broken.
    bool take_array(std::string_view& bytes);
    bool take_inline(std::string_view& bytes);
    std::optional<std::string_view> take_line(std::string_view& bytes, std::size_t longest);
    std::optional<std::int64_t> take_number(std::string_view& bytes, const char* what, std::int64_t least,
                                            std::size_t most);
    bool fail(const std::string& why);

    limits limit_;
    std::string part_; // the bytes of an incomplete request, or of a request that arrived in parts
    bool is_inside_ = false;
    std::string unquoted_; // the words of an inline request
    std::vector<std::string_view> words_;
    std::string error_;
};

} // namespace ordered
