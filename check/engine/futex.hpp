/// sys::futex_* of the checking build. Waits may return spuriously, and a wake-up may choose any sleeper.
///
/// Part: check (engine). Included by src/ekiden/sys/futex.hpp when EKIDEN_CHECKING is set.
#pragma once

#include <check/engine/access.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

static_assert(sizeof(atomic<std::uint32_t>) == sizeof(std::uint32_t));

inline void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::source_location where = std::source_location::current()) noexcept {
    (void)check::wait_on(&word, sizeof word, expected, check::never, where);
}

[[nodiscard]] inline bool
futex_wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected, clock::time_point deadline,
                 std::source_location where = std::source_location::current()) noexcept {
    const auto at = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
    if (at <= 0) return false;
    return check::wait_on(&word, sizeof word, expected, static_cast<std::uint64_t>(at), where)
           != check::wait_result::timed_out;
}

inline int futex_wake(const atomic<std::uint32_t>& word, int count = 1,
                      std::source_location where = std::source_location::current()) noexcept {
    return check::wake(&word, static_cast<unsigned>(count), where);
}
inline int futex_wake_all(const atomic<std::uint32_t>& word,
                          std::source_location where = std::source_location::current()) noexcept {
    return check::wake(&word, ~0U, where);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
