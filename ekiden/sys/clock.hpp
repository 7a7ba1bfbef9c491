/// Time: the steady clock in nanoseconds, and hints to the processor while time passes.
///
/// Part: sys. Used by: every part. The checking build replaces it by a virtual clock.
#pragma once

#include <ekiden/sys/config.hpp>

#include <chrono>
#include <cstdint>

#if defined(EKIDEN_CHECKING)
#include <check/engine/clock.hpp>
#else

namespace ekiden::inline EKIDEN_ABI::sys {

/// The clock that every duration and deadline of this library is measured with; not moved by changes of the
/// system time.
using clock = std::chrono::steady_clock;

/// Now on `clock`, in nanoseconds since its epoch. About 20 ns.
inline std::uint64_t now_ns() noexcept {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now().time_since_epoch()).count());
}

/// Tells the processor that this is a spin loop.
inline void spin_hint() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

} // namespace ekiden::inline EKIDEN_ABI::sys
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

/// `length` in the clock's unit, rounded up, and cut to 146 years either way: so that a time point of now
/// plus it does not overflow, whatever the caller's unit.
template <class Rep, class Period>
[[nodiscard]] constexpr clock::duration bounded(const std::chrono::duration<Rep, Period>& length) noexcept {
    constexpr clock::duration most = clock::duration::max() / 2;
    using seconds = std::chrono::duration<double>;
    if (seconds(length) >= seconds(most)) return most;
    return seconds(length) > -seconds(most) ? std::chrono::ceil<clock::duration>(length) : -most;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
