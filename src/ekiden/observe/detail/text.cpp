#include <ekiden/observe/detail/text.hpp>

#include <array>
#include <charconv>

namespace ekiden::inline EKIDEN_ABI {
namespace {

std::string text_of(double value, std::chars_format format, int precision) {
    std::array<char, 400> digits; // the longest text has 309 digits before the point
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value, format, precision).ptr;
    return {digits.data(), end};
}

} // namespace

/// Checks the byte sequences of table 3-7 of the Unicode Standard.
std::size_t text::character_bytes(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto is_between = [&byte](std::size_t i, unsigned low, unsigned high) {
        return byte(i) >= low && byte(i) <= high;
    };
    const auto goes_on = [&is_between](std::size_t i) { return is_between(i, 0x80, 0xbf); };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf && goes_on(1)) return 2;
    if (first >= 0xe0 && first <= 0xef && goes_on(2))
        return is_between(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) ? 3 : 0;
    if (first >= 0xf0 && first <= 0xf4 && goes_on(2) && goes_on(3))
        return is_between(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) ? 4 : 0;
    return 0;
}

std::string text::fixed(double value, int decimals) {
    return text_of(value, std::chars_format::fixed, decimals);
}
std::string text::general(double value, int digits) {
    return text_of(value, std::chars_format::general, digits);
}

} // namespace ekiden::inline EKIDEN_ABI
