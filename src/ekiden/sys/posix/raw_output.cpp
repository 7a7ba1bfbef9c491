#include <ekiden/sys/raw_output.hpp>

#include <cerrno>
#include <ctime>
#include <unistd.h>

namespace ekiden::inline EKIDEN_ABI::sys {

void raw_output::flush() noexcept {
    const int before = errno; // a signal handler must preserve errno for the interrupted code
    const char* next = buffer_.data();
    while (used_ != 0) {
        const ssize_t written = ::write(file_, next, used_);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break;
        next += written;
        used_ -= static_cast<std::size_t>(written);
    }
    errno = before;
    used_ = 0;
}

void raw_sleep(std::uint64_t ns) noexcept {
    const int before = errno;
    timespec left{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    errno = before;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
