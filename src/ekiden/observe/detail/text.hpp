/// Text that is UTF-8 and does not depend on the locale or on the format flags of a stream.
///
/// Part: observe. Used by: the writers of traces and metrics, sim. Private.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI::text {

/// The character U+FFFD, which replaces bytes that are not UTF-8.
inline constexpr std::string_view replacement = "\xef\xbf\xbd";

/// Returns the number of bytes of the first character of `text`. Returns 0 if the first bytes are not UTF-8.
[[nodiscard]] std::size_t character_bytes(std::string_view text) noexcept;

/// Calls `f(character)` for each character of `text`. Calls `f(replacement)` for each byte that is not UTF-8.
template <class F>
void for_each_character(std::string_view text, F&& f) {
    while (!text.empty()) {
        const std::size_t bytes = character_bytes(text);
        f(bytes == 0 ? replacement : text.substr(0, bytes));
        text.remove_prefix(bytes == 0 ? 1 : bytes);
    }
}

/// Returns `value` with `decimals` digits after the decimal point.
[[nodiscard]] std::string fixed(double value, int decimals);
/// Returns `value` with at most `digits` significant digits, like "%g".
[[nodiscard]] std::string general(double value, int digits);

/// Writes the bytes unchanged. The width, fill character and locale of the stream have no effect.
inline void put(std::ostream& to, std::string_view bytes) {
    to.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace ekiden::inline EKIDEN_ABI::text
