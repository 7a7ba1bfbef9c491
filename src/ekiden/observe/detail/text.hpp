/// Text that is the same in every locale and in every format of a stream, and that is UTF-8.
///
/// Part: observe. Used by: writers of traces and metrics, sim. Private.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI::text {

/// What stands for bytes that are no UTF-8: U+FFFD.
inline constexpr std::string_view replacement = "\xef\xbf\xbd";

/// Returns how many bytes the character at the front of `text` has; 0 if that is not UTF-8.
[[nodiscard]] std::size_t character_bytes(std::string_view text) noexcept;

/// Calls `f(character)` for each character of `text`, with the replacement for each byte that is no UTF-8.
template <class F>
void for_each_character(std::string_view text, F&& f) {
    while (!text.empty()) {
        const std::size_t bytes = character_bytes(text);
        f(bytes == 0 ? replacement : text.substr(0, bytes));
        text.remove_prefix(bytes == 0 ? 1 : bytes);
    }
}

/// Returns `value` with so many digits behind the point.
[[nodiscard]] std::string fixed(double value, int decimals);
/// Returns `value` with so many significant digits at most, as "%g" has it.
[[nodiscard]] std::string general(double value, int digits);

/// Writes the bytes as they are. A stream's width, fill and locale have no effect.
inline void put(std::ostream& to, std::string_view bytes) {
    to.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace ekiden::inline EKIDEN_ABI::text
