#include <ekiden/sys/futex.hpp>

#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/posix/sleep_length.hpp>
#include <ekiden/sys/thread.hpp>

#include <cerrno>
#include <os/os_sync_wait_on_address.h>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

static_assert(sizeof(atomic<std::uint32_t>) == sizeof(std::uint32_t), "the kernel reads the word itself");

/// The system takes a pointer to memory that may change, but does not change the memory.
void* address_of(const atomic<std::uint32_t>& word) noexcept {
    return const_cast<atomic<std::uint32_t>*>(&word); // NOLINT: see above
}

/// Returns whether a wait has ended before its time was over. `result` is what the system has returned.
bool ended_early(int result) noexcept {
    if (result >= 0 || errno == EINTR) return true;
    if (errno == ETIMEDOUT) return false;
    expects(errno != EINVAL, "the system refuses a wait for a word");
    yield(); // ENOMEM or EFAULT: the kernel lacks memory for a while, and the caller tries again
    return true;
}

} // namespace

void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    (void)ended_early(
        ::os_sync_wait_on_address(address_of(word), expected, sizeof expected, OS_SYNC_WAIT_ON_ADDRESS_NONE));
}

bool futex_wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected,
                      clock::time_point deadline) noexcept {
    const std::chrono::nanoseconds length = sleep_length(deadline);
    if (length == std::chrono::nanoseconds::zero()) return false; // the system refuses a time of 0
    return ended_early(::os_sync_wait_on_address_with_timeout(
               address_of(word), expected, sizeof expected, OS_SYNC_WAIT_ON_ADDRESS_NONE,
               OS_CLOCK_MACH_ABSOLUTE_TIME, static_cast<std::uint64_t>(length.count())))
           || clock::now() < deadline;
}

int futex_wake(const atomic<std::uint32_t>& word, int count) noexcept {
    int woken = 0;
    while (woken < count
           && ::os_sync_wake_by_address_any(address_of(word), sizeof(std::uint32_t),
                                            OS_SYNC_WAKE_BY_ADDRESS_NONE)
                  == 0)
        ++woken;
    return woken;
}

int futex_wake_all(const atomic<std::uint32_t>& word) noexcept {
    (void)::os_sync_wake_by_address_all(address_of(word), sizeof(std::uint32_t),
                                        OS_SYNC_WAKE_BY_ADDRESS_NONE);
    return 0; // the system does not report the number
}

} // namespace ekiden::inline EKIDEN_ABI::sys
