#include <ekiden/sys/raw_output.hpp>

#include <algorithm>
#include <iterator>

#if defined(__unix__) || defined(__APPLE__)
#include <cerrno>
#include <ctime>
#include <unistd.h>
#else
#include <chrono>
#include <cstdio>
#include <thread>
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

raw_output& raw_output::operator<<(std::string_view text) noexcept {
    while (!text.empty()) {
        if (used_ == buffer_.size()) flush();
        const std::size_t part = std::min(text.size(), buffer_.size() - used_);
        std::copy_n(text.data(), part, buffer_.data() + used_);
        used_ += part;
        text.remove_prefix(part);
    }
    return *this;
}

raw_output& raw_output::operator<<(std::uint64_t number) noexcept {
    char digits[20];
    char* const end = std::end(digits);
    char* first = end;
    do *--first = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    return *this << std::string_view(first, static_cast<std::size_t>(end - first));
}

raw_output& raw_output::duration(std::uint64_t ns) noexcept {
    if (ns < 1'000'000) return *this << ns / 1000 << " us";
    if (ns < 1'000'000'000) return *this << ns / 1'000'000 << " ms";
    return *this << ns / 1'000'000'000 << "." << ns / 100'000'000 % 10 << " s";
}

#if defined(__unix__) || defined(__APPLE__)

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

#else

void raw_output::flush() noexcept {
    std::FILE* const to = file_ == 1 ? stdout : stderr;
    (void)std::fwrite(buffer_.data(), 1, used_, to);
    used_ = 0;
}

void raw_sleep(std::uint64_t ns) noexcept { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }

#endif

} // namespace ekiden::inline EKIDEN_ABI::sys
