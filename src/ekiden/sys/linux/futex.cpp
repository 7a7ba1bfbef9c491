#include <ekiden/sys/futex.hpp>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

static_assert(sizeof(atomic<std::uint32_t>) == sizeof(std::uint32_t), "the kernel reads the word itself");

long futex(const atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* deadline) noexcept {
    return ::syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, deadline, nullptr,
                     FUTEX_BITSET_MATCH_ANY);
}

/// Returns false if the system reports that the time is reached.
bool wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected, clock::time_point time) noexcept {
    // FUTEX_WAIT_BITSET takes an absolute time on CLOCK_MONOTONIC, which is the clock behind steady_clock on
    // Linux.
    const auto since_epoch = std::max(time.time_since_epoch(), clock::duration::zero());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
    timespec at{};
    at.tv_sec = static_cast<time_t>(seconds.count());
    at.tv_nsec = static_cast<long>(std::chrono::nanoseconds(since_epoch - seconds).count());
    return futex(word, FUTEX_WAIT_BITSET, expected, &at) == 0 || errno != ETIMEDOUT;
}

} // namespace

void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    futex(word, FUTEX_WAIT_BITSET, expected, nullptr);
}

bool futex_wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected,
                      clock::time_point deadline) noexcept {
    if (deadline.time_since_epoch().count() <= 0) return false;
    // The kernel may end a timed wait too late by the thread's timer slack (50 us by default). So the first
    // wait gets an earlier deadline. If the first wait ends too early, a second wait follows.
    const auto slack = std::chrono::nanoseconds(std::max(::prctl(PR_GET_TIMERSLACK), 0));
    return wait_until(word, expected, deadline - slack)
           || (clock::now() < deadline && wait_until(word, expected, deadline));
}

int futex_wake(const atomic<std::uint32_t>& word, int count) noexcept {
    const long woken = futex(word, FUTEX_WAKE, static_cast<std::uint32_t>(count), nullptr);
    return woken < 0 ? 0 : static_cast<int>(woken);
}

int futex_wake_all(const atomic<std::uint32_t>& word) noexcept { return futex_wake(word, INT_MAX); }

} // namespace ekiden::inline EKIDEN_ABI::sys
