#include <ekiden/sys/thread_probe.hpp>

#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/windows/ending.hpp>

#include <algorithm>
#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {

thread_probe thread_probe::of_this_thread() noexcept {
    thread_probe made;
    made.thread_ = static_cast<long>(::GetCurrentThreadId());
    made.sleep_ = &local<sleep_note>();
    return made;
}

std::uint64_t thread_probe::cpu_ns() const noexcept {
    if (thread_ == 0) return 0;
    const HANDLE thread = ::OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, static_cast<DWORD>(thread_));
    if (thread == nullptr) return 0;
    FILETIME created{};
    FILETIME ended{};
    FILETIME in_kernel{};
    FILETIME in_program{};
    const bool is_known = ::GetThreadTimes(thread, &created, &ended, &in_kernel, &in_program) != 0;
    ::CloseHandle(thread);
    if (!is_known) return 0;
    const auto ns = [](const FILETIME& time) { // the unit is 100 ns
        return (std::uint64_t{time.dwHighDateTime} << 32U | time.dwLowDateTime) * 100;
    };
    // The system counts ticks of about 15 ms. So a young thread has used no time, but 0 would mean an unknown
    // time.
    return std::max<std::uint64_t>(ns(in_kernel) + ns(in_program), 1);
}

// Windows has no documented function that tells whether a thread sleeps. So the library's own waits note it.
bool thread_probe::is_asleep() const noexcept {
    return sleep_ != nullptr && static_cast<const sleep_note*>(sleep_)->is_asleep.load(relaxed);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
