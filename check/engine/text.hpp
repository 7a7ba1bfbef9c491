/// Formats operations and values for tables.
///
/// Part: check (engine), private.
#pragma once

#include <check/engine/access.hpp>

#include <string>
#include <string_view>

namespace ekiden::check::text {

[[nodiscard]] std::string_view name(order how) noexcept;
/// Returns text such as "load a3 acquire".
[[nodiscard]] std::string operation(std::string_view what, std::string_view object, order how);
/// Returns small values in decimal (all ones as -1), and others in hexadecimal.
[[nodiscard]] std::string value(std::uint64_t bits, unsigned size);
/// Sets the folder that short_path() omits. The text must outlive all uses. Call it before models run.
void set_root(std::string_view folder) noexcept;
/// Returns the part of a path below that folder, or below the folder of the installed checker's headers.
/// Returns other paths unchanged, except that it removes "../" at the beginning.
[[nodiscard]] std::string short_path(std::string_view path);
/// Returns line `line` of `file` without its indentation, at most `width` bytes. Empty if it cannot be read.
[[nodiscard]] std::string source_line(const std::string& file, unsigned line, std::size_t width);

} // namespace ekiden::check::text
