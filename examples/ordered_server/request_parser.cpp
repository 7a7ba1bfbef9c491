#include <ordered_server/request_parser.hpp>

#include <algorithm>
#include <charconv>
#include <tuple>

namespace ordered {

namespace {

constexpr std::string_view blanks = " \t\r\v\f";

/// What stands behind a backslash between double quotes, and how many characters it is.
std::pair<char, std::size_t> unescaped(std::string_view text) {
    constexpr std::string_view letters = "nrtba";
    int code = 0;
    if (text.size() > 2 && text[0] == 'x' && std::from_chars(&text[1], &text[3], code, 16).ptr == &text[3])
        return {static_cast<char>(code), 3};
    const std::size_t known = letters.find(text[0]);
    return {known == letters.npos ? text[0] : "\n\r\t\b\a"[known], 1};
}

} // namespace

request_parser::result request_parser::parse(std::string_view& input) {
    while (error_.empty() && !input.empty()) {
        if (missing_ != 0) {
            if (!take_word(input)) continue;
        } else {
            if (!take_line(input)) continue;
            if (expected_ != 0)
                begin_word();
            else if (line_.starts_with('*'))
                begin_array();
            else
                split();
            line_.clear();
        }
        if (places_.empty() || missing_ != 0 || places_.size() < expected_ || !error_.empty()) continue;
        words_.clear();
        for (const auto& [first, size] : places_)
            words_.push_back(std::string_view(bytes_).substr(first, size));
        places_.clear();
        expected_ = 0;
        return result::request;
    }
    return error_.empty() ? result::need_more : result::broken;
}

/// Adds what has come to line_. True at the line's end.
bool request_parser::take_line(std::string_view& input) {
    if (line_.empty() && expected_ == 0) bytes_.clear(); // a request begins
    const std::size_t end = input.find('\n');
    line_ += input.substr(0, std::min(end, limit_.frame + 1 - line_.size()));
    const bool is_number = expected_ != 0 || line_.starts_with('*');
    if (line_.size() > (is_number ? 24 : limit_.frame)) fail("too long a line");
    input.remove_prefix(end == input.npos ? input.size() : end + 1);
    return end != input.npos && error_.empty();
}

/// The number behind the first character, if it is not above `most`. One below 0 counts as 0, except of a
/// word.
std::optional<std::size_t> request_parser::number_on_line(std::size_t most) const {
    long long number = 0;
    const char* const end = line_.data() + line_.size();
    const auto [last, wrong] = std::from_chars(line_.data() + 1, end, number);
    if (wrong != std::errc() || std::string_view(last, end) != "\r" || number > static_cast<long long>(most))
        return {};
    if (number < 0 && expected_ != 0) return {};
    return static_cast<std::size_t>(std::max(number, 0LL));
}

void request_parser::begin_array() {
    const auto number = number_on_line(limit_.words);
    if (!number) return fail("invalid multibulk length");
    expected_ = *number; // 0: an empty request is none
}

void request_parser::begin_word() {
    if (!line_.starts_with('$')) return fail("expected '$', got '" + line_.substr(0, 1) + '\'');
    const auto number = number_on_line(limit_.frame - bytes_.size());
    if (!number) return fail("invalid bulk length");
    places_.emplace_back(bytes_.size(), *number);
    missing_ = *number + 2;
}

/// True at the word's end.
bool request_parser::take_word(std::string_view& input) {
    const std::string_view part = input.substr(0, missing_);
    bytes_ += part;
    input.remove_prefix(part.size());
    missing_ -= part.size();
    if (missing_ != 0) return false;
    if (!bytes_.ends_with("\r\n")) fail("expected a line end behind a bulk string");
    bytes_.resize(bytes_.size() - 2);
    return true;
}

/// An inline command. A word may be quoted in parts, and ends behind a closing quote.
void request_parser::split() {
    std::string_view line = line_;
    for (;;) {
        line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
        if (line.empty()) return;
        if (places_.size() == limit_.words) return fail("too many words in an inline request");
        const std::size_t first = bytes_.size();
        while (!line.empty() && blanks.find(line[0]) == blanks.npos) {
            if (line[0] == '"' || line[0] == '\'') {
                if (!take_quoted(line)) return fail("unbalanced quotes in request");
                break;
            }
            bytes_ += line[0];
            line.remove_prefix(1);
        }
        places_.emplace_back(first, bytes_.size() - first);
    }
}

/// Between double quotes there are escapes; between single ones only that of the quote.
bool request_parser::take_quoted(std::string_view& line) {
    const char quote = line[0];
    for (line.remove_prefix(1); !line.empty() && line[0] != quote;) {
        char c = line[0];
        std::size_t size = 1;
        if (c == '\\' && line.size() > 1 && (quote == '"' || line[1] == quote)) {
            std::tie(c, size) = unescaped(line.substr(1));
            ++size;
        }
        bytes_ += c;
        line.remove_prefix(size);
    }
    if (line.empty()) return false;
    line.remove_prefix(1);
    return line.empty() || blanks.find(line[0]) != blanks.npos;
}

} // namespace ordered
