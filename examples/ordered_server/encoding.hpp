/// Appends replies of the Redis protocol to a string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ordered::encoding {

inline void simple(std::string& to, std::string_view text) { to.append("+").append(text).append("\r\n"); }
/// Replaces bytes that would end the reply by blanks.
inline void error(std::string& to, std::string_view text) {
    to += "-ERR ";
    for (const char c : text) to += c >= ' ' && c <= '~' ? c : ' ';
    to += "\r\n";
}
inline void number(std::string& to, char kind, std::int64_t n) {
    to += kind;
    to.append(std::to_string(n)).append("\r\n");
}
inline void integer(std::string& to, std::int64_t n) { number(to, ':', n); }
inline void bulk(std::string& to, std::string_view bytes) {
    number(to, '$', static_cast<std::int64_t>(bytes.size()));
    to.append(bytes).append("\r\n");
}
inline void null(std::string& to) { to += "$-1\r\n"; }
/// Appends the head of an array. The caller appends the elements.
inline void array(std::string& to, std::size_t n) { number(to, '*', static_cast<std::int64_t>(n)); }

} // namespace ordered::encoding
