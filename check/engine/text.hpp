/// How operations and values are written in tables.
///
/// Part: check (engine), private.
#pragma once

#include <check/engine/access.hpp>

#include <string>
#include <string_view>

namespace ekiden::check::text {

[[nodiscard]] std::string_view name(order how) noexcept;
/// "load a3 acquire"
[[nodiscard]] std::string operation(std::string_view what, std::string_view object, order how);
/// Small values in decimal (all ones as -1), others in hexadecimal.
[[nodiscard]] std::string value(std::uint64_t bits, unsigned size);
/// The folder that short_path() leaves out; it must outlive all uses. Set before models run.
void set_root(std::string_view folder) noexcept;
/// The part of a path below that folder, or below that of the installed checker's headers; all of it if it
/// lies elsewhere, but for "../" at its beginning.
[[nodiscard]] std::string short_path(std::string_view path);
/// Line `line` of `file` without its indentation, at most `width` bytes; empty if it cannot be read.
[[nodiscard]] std::string source_line(const std::string& file, unsigned line, std::size_t width);

} // namespace ekiden::check::text
