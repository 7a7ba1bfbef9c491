/// Text for a file descriptor, made without memory, locks or the C library's streams: for a program that
/// hangs, and for signal handlers.
///
/// Part: sys. Used by: pool (dump).
#pragma once

#include <ekiden/sys/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Not thread-safe. All functions are async-signal-safe on POSIX systems, and leave errno as it was. What
/// cannot be written is dropped.
class raw_output {
public:
    explicit raw_output(int file) noexcept : file_(file) {}
    ~raw_output() { flush(); }
    raw_output(const raw_output&) = delete;
    raw_output& operator=(const raw_output&) = delete;

    raw_output& operator<<(std::string_view text) noexcept;
    raw_output& operator<<(std::uint64_t number) noexcept;
    /// A duration in nanoseconds, as "12.3 s", "50 ms", "7 us".
    raw_output& duration(std::uint64_t ns) noexcept;

    void flush() noexcept;

private:
    int file_;
    std::size_t used_ = 0;
    std::array<char, 512> buffer_;
};

/// Sleeps so long, or a little longer. Async-signal-safe on POSIX systems. Leaves errno as it was.
void raw_sleep(std::uint64_t ns) noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
