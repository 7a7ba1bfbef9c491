/// Writes text to a file descriptor without allocating, without locks and without the C library's streams.
/// The output works in a program that hangs, and in signal handlers.
///
/// Part: sys. Used by: pool.
#pragma once

#include <ekiden/sys/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI::sys {

/// An output with a small buffer. An object of this class is not thread-safe. All functions are
/// async-signal-safe on POSIX systems and preserve errno. If the system refuses to write some text, the text
/// is dropped.
class raw_output {
public:
    explicit raw_output(int file) noexcept : file_(file) {}
    ~raw_output() { flush(); }
    raw_output(const raw_output&) = delete;
    raw_output& operator=(const raw_output&) = delete;

    raw_output& operator<<(std::string_view text) noexcept;
    raw_output& operator<<(std::uint64_t number) noexcept;
    /// Writes a duration, which the caller gives in nanoseconds, as a text such as "12.3 s", "50 ms" or "7
    /// us".
    raw_output& duration(std::uint64_t ns) noexcept;

    void flush() noexcept;

private:
    int file_;
    std::size_t used_ = 0;
    std::array<char, 512> buffer_;
};

/// Sleeps for `ns` nanoseconds or a little longer. Async-signal-safe on POSIX systems. Preserves errno.
void raw_sleep(std::uint64_t ns) noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
