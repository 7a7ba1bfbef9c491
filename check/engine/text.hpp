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
/// Returns a small value in decimal, and another value in hexadecimal. A value whose bits are all 1 is shown
/// as -1.
[[nodiscard]] std::string value(std::uint64_t bits, unsigned size);
/// Sets the folder that short_path() omits. The text must outlive all calls of short_path(). Call this
/// function before models run.
void set_root(std::string_view folder) noexcept;
/// Returns the part of a path below the folder of set_root(), or below the folder of the installed checker's
/// headers. If the path is in neither folder, only removes "../" at the beginning.
[[nodiscard]] std::string short_path(std::string_view path);
/// Returns line `line` of `file` without the indentation, at most `width` bytes. The result is empty if the
/// file cannot be read.
[[nodiscard]] std::string source_line(const std::string& file, unsigned line, std::size_t width);

} // namespace ekiden::check::text
