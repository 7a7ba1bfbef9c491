#include <ordered_server/request_parser.hpp>

#include <algorithm>
#include <charconv>
#include <limits>

namespace ordered {

namespace {

constexpr std::string_view blanks = " \t\r\v\f";

/// Returns the character of an escape sequence between double quotes. Removes all of it from `text` except
/// its last character.
char take_escape(std::string_view& text) {
    text.remove_prefix(1); // the backslash
    const char* const at = text.data();
    unsigned code = 0; // unsigned, so from_chars accepts no sign
    if (text.size() > 2 && *at == 'x' && std::from_chars(at + 1, at + 3, code, 16).ptr == at + 3) {
        text.remove_prefix(2);
        return static_cast<char>(code);
    }
    const std::size_t known = std::string_view("nrtba").find(text[0]);
    return known == text.npos ? text[0] : "\n\r\t\b\a"[known];
}

} // namespace

/// Keeps an incomplete request. Parses it again from its first byte when more bytes arrive. This is fast,
/// because words are skipped by their lengths.
request_parser::result request_parser::parse(std::string_view& input) {
    const std::size_t known = is_inside_ ? part_.size() : 0;
    if (is_inside_) part_ += input;
    std::string_view bytes = is_inside_ ? part_ : input;
    const std::size_t all = bytes.size();
    while (error_.empty() && !bytes.empty()) {
        std::string_view rest = bytes;
        words_.clear();
        if (!(rest.starts_with('*') ? take_array(rest) : take_inline(rest))) break;
        bytes = rest;
        if (words_.empty()) continue; // an empty request is ignored
        input.remove_prefix(all - bytes.size() - known);
        is_inside_ = false;
        return result::request;
    }
    if (!error_.empty()) return result::broken;
    if (is_inside_)
        part_.erase(0, all - bytes.size());
    else
        part_ = bytes;
    is_inside_ = !bytes.empty();
    input = {};
    return result::need_more;
}

bool request_parser::fail(const std::string& why) {
    error_ = "Protocol error: " + why;
    return false;
}

/// Returns the next line, without its '\n'.
std::optional<std::string_view> request_parser::take_line(std::string_view& bytes, std::size_t longest) {
    const std::string_view line = bytes.substr(0, std::min(bytes.find('\n'), longest + 1));
    if (line.size() > longest)
        fail("too long a line");
    else if (line.size() != bytes.size()) {
        bytes.remove_prefix(line.size() + 1);
        return line;
    }
    return {};
}

/// Reads a line with one character followed by a number.
std::optional<std::int64_t> request_parser::take_number(std::string_view& bytes, const char* what,
                                                        std::int64_t least, std::size_t most) {
    const auto line = take_line(bytes, 24);
    if (!line) return {};
    std::int64_t number = 0;
    const char* const end = line->data() + line->size();
    const auto [last, wrong] = std::from_chars(line->data() + 1, end, number);
    if (wrong == std::errc() && std::string_view(last, end) == "\r" && number >= least
        && number <= static_cast<std::int64_t>(most))
        return number;
    fail("invalid " + std::string(what) + " length");
    return {};
}

bool request_parser::take_array(std::string_view& bytes) {
    // A negative number counts as 0.
    const auto count =
        take_number(bytes, "multibulk", std::numeric_limits<std::int64_t>::min(), limit_.words);
    if (!count) return false;
    std::size_t room = limit_.frame;
    for (std::int64_t i = 0; i < *count; ++i) {
        if (bytes.empty()) return false;
        if (bytes[0] != '$') return fail("expected '$', got '" + std::string(1, bytes[0]) + '\'');
        const auto number = take_number(bytes, "bulk", 0, room);
        if (!number) return false;
        const auto size = static_cast<std::size_t>(*number);
        if (bytes.size() < size + 2) return false;
        if (bytes.substr(size, 2) != "\r\n") return fail("expected a line end behind a bulk string");
        words_.push_back(bytes.substr(0, size));
        bytes.remove_prefix(size + 2);
        room -= size;
    }
    return true;
}

/// Reads words that are separated by blanks. A word may contain quoted parts. It ends after a closing quote.
/// Escapes work between double quotes. Between single quotes, only the escaped quote is an escape.
bool request_parser::take_inline(std::string_view& bytes) {
    const auto line = take_line(bytes, limit_.frame);
    if (!line) return false;
    unquoted_.clear();
    unquoted_.reserve(line->size()); // the text only gets shorter, so the words never move
    for (std::string_view rest = *line;;) {
        rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
        if (rest.empty()) return true;
        if (words_.size() == limit_.words) return fail("too many words in an inline request");
        const std::size_t first = unquoted_.size();
        char quote = 0;
        for (; !rest.empty() && (quote != 0 || blanks.find(rest[0]) == blanks.npos); rest.remove_prefix(1)) {
            if (quote == 0 && (rest[0] == '"' || rest[0] == '\'')) {
                quote = rest[0];
            } else if (quote != 0 && rest[0] == quote) {
                if (rest.size() > 1 && blanks.find(rest[1]) == blanks.npos) break;
                quote = 0;
            } else if (rest.size() > 1 && rest[0] == '\\' && quote == '\'' && rest[1] == quote) {
                rest.remove_prefix(1);
                unquoted_ += quote;
            } else {
                unquoted_ += rest.size() > 1 && rest[0] == '\\' && quote == '"' ? take_escape(rest) : rest[0];
            }
        }
        if (quote != 0) return fail("unbalanced quotes in request");
        words_.push_back(std::string_view(unquoted_).substr(first));
    }
}

} // namespace ordered
