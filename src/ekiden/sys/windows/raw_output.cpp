#include <ekiden/sys/raw_output.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <io.h>
#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {

void raw_output::flush() noexcept {
    const int before = errno; // _get_osfhandle() changes it if there is no such file
    const auto to = reinterpret_cast<HANDLE>(::_get_osfhandle(file_));
    const char* next = buffer_.data();
    while (used_ != 0) {
        DWORD written = 0;
        if (::WriteFile(to, next, static_cast<DWORD>(used_), &written, nullptr) == 0 || written == 0) break;
        next += written;
        used_ -= written;
    }
    errno = before;
    used_ = 0;
}

void raw_sleep(std::uint64_t ns) noexcept {
    constexpr std::uint64_t longest = INFINITE - 1;
    ::Sleep(static_cast<DWORD>(std::min((ns + 999'999) / 1'000'000, longest)));
}

} // namespace ekiden::inline EKIDEN_ABI::sys
