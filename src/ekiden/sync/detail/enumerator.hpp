/// Functions that count and name the enumerators of an enum class at compile time.
///
/// Part: sync. Used by: state_table, state_diagram. The functions parse the text of __PRETTY_FUNCTION__. In
/// this text, g++ and clang name the template argument.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Returns the name of the enumerator `Value`, without its scope. Returns an empty string if no enumerator
/// has this value.
template <auto Value>
[[nodiscard]] constexpr std::string_view enumerator_name() noexcept {
    // The text is "... [with auto Value = scope::name; ...]" with g++, or "... [Value = scope::name]" with
    // clang. If no enumerator has the value 7, the text has "(type)7" instead of the name.
    std::string_view text = __PRETTY_FUNCTION__;
    text.remove_prefix(text.find("Value = ") + 8);
    text = text.substr(0, text.find_first_of(";]"));
    std::size_t start = text.size();
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto is_name = [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
    };
    while (start > 0 && is_name(text[start - 1])) --start;
    text.remove_prefix(start);
    return text.empty() || is_digit(text.front()) ? std::string_view() : text;
}

namespace enumerators {

template <class Enum, std::size_t... I>
constexpr std::size_t count(std::index_sequence<I...>) noexcept {
    std::size_t found = 0;
    // Stops at the first value that has no enumerator.
    (void)((ekiden::enumerator_name<static_cast<Enum>(I)>().empty() ? false : (++found, true)) && ...);
    return found;
}

// This is a variable, so that the compiler counts the enumerators of a type only once.
template <class Enum>
inline constexpr std::size_t number = enumerators::count<Enum>(std::make_index_sequence<80>());

} // namespace enumerators

/// Returns the number of enumerators of `Enum`, up to 80. The values of the enumerators must be 0, 1, 2 and
/// so on.
template <class Enum>
[[nodiscard]] constexpr std::size_t enumerator_count() noexcept {
    return enumerators::number<Enum>;
}

/// Returns the name of the enumerator `value`, which is known only at run time. Returns an empty string if no
/// enumerator has this value.
template <class Enum>
[[nodiscard]] constexpr std::string_view enumerator_name(Enum value) noexcept {
    return [value]<std::size_t... I>(std::index_sequence<I...>) {
        std::string_view name;
        (void)((value == static_cast<Enum>(I)
                && (name = ekiden::enumerator_name<static_cast<Enum>(I)>(), true))
               || ...);
        return name;
    }(std::make_index_sequence<enumerator_count<Enum>()>());
}

} // namespace ekiden::inline EKIDEN_ABI
