/// The steady clock in nanoseconds, and a hint to the processor for spin loops.
///
/// Part: sys. Used by: every part. The checking build uses a virtual clock instead of the steady clock.
#pragma once

#include <ekiden/sys/config.hpp>

#include <chrono>
#include <cstdint>
#include <ratio>
#include <type_traits>

#if defined(EKIDEN_CHECKING) || defined(EKIDEN_TIMED)
#include <check/engine/clock.hpp>
#else

namespace ekiden::inline EKIDEN_ABI::sys {

/// The clock for all durations and deadlines of the library. Changes of the system time do not affect this
/// clock.
using clock = std::chrono::steady_clock;

/// Returns the time on `clock`, in nanoseconds since its epoch.
inline std::uint64_t now_ns() noexcept {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now().time_since_epoch()).count());
}

/// Tells the processor that the calling loop spins.
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

/// Converts the duration `length` to the unit of `clock`. The result is rounded up, and clamped to the range
/// from -`most` to `most`. The default of `most` is 146 years. So the sum of the current time and the result
/// cannot overflow. If `length` is a NaN, the result is -`most`.
template <class Rep, class Period>
[[nodiscard]] constexpr clock::duration bounded(const std::chrono::duration<Rep, Period>& length,
                                                clock::duration most = clock::duration::max() / 2) noexcept {
    // The comparison uses floating point, because the integer arithmetic of a duration may overflow.
    using seconds = std::chrono::duration<long double>;
    const seconds wide(length);
    if (wide >= seconds(most)) return most;
    if (!(wide > -seconds(most))) return -most;
    using ticks = std::ratio_divide<Period, clock::period>;
    if constexpr (ticks::num == 1 || ticks::den == 1)
        return std::chrono::ceil<clock::duration>(length);
    else // an exact cast of, for example, thirds of a second can overflow in a multiplication
        return std::chrono::ceil<clock::duration>(wide);
}

/// Returns the time from `from` to `to`. Both time points belong to the same clock. The result is clamped
/// like the result of bounded().
template <class Clock, class From, class To>
[[nodiscard]] clock::duration time_between(const std::chrono::time_point<Clock, From>& from,
                                           const std::chrono::time_point<Clock, To>& to) noexcept {
    // The epoch of some clocks is 148 years away, so almost the whole range of a duration is needed here.
    constexpr clock::duration most = clock::duration::max() - std::chrono::seconds(1);
    const clock::duration begin = sys::bounded(from.time_since_epoch(), most);
    const clock::duration end = sys::bounded(to.time_since_epoch(), most);
    clock::rep length = 0;
    if (add_overflows(end.count(), -begin.count(), length)) return bounded(end > begin ? most : -most);
    return bounded(clock::duration(length));
}

/// True if `Clock` is the library's clock. The comparison uses `clock::time_point::clock`, because the
/// virtual clock of the checking build has the time points of std::chrono::steady_clock.
template <class Clock>
inline constexpr bool is_own_clock = std::is_same_v<Clock, clock::time_point::clock>;

} // namespace ekiden::inline EKIDEN_ABI::sys
