/// Time: the steady clock in nanoseconds, and hints to the processor while time passes.
///
/// Part: sys. Used by: every part. The checking build replaces it by a virtual clock.
#pragma once

#include <ekiden/sys/config.hpp>

#include <chrono>
#include <cstdint>
#include <ratio>
#include <type_traits>

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

/// `length` in the clock's unit, rounded up, and cut to `most` either way: with 146 years a time point of now
/// plus it does not overflow, whatever the caller's unit and range. Not a number is cut to -`most`.
template <class Rep, class Period>
[[nodiscard]] constexpr clock::duration bounded(const std::chrono::duration<Rep, Period>& length,
                                                clock::duration most = clock::duration::max() / 2) noexcept {
    // Compared as floating point, because a duration's own arithmetic may overflow.
    using seconds = std::chrono::duration<long double>;
    const seconds wide(length);
    if (wide >= seconds(most)) return most;
    if (!(wide > -seconds(most))) return -most;
    using ticks = std::ratio_divide<Period, clock::period>;
    if constexpr (ticks::num == 1 || ticks::den == 1)
        return std::chrono::ceil<clock::duration>(length);
    else // thirds of a second, frames: to be exact, the cast would multiply beyond its range
        return std::chrono::ceil<clock::duration>(wide);
}

/// The time from `from` to `to`, which one clock shows; cut as bounded() does.
template <class Clock, class From, class To>
[[nodiscard]] clock::duration time_between(const std::chrono::time_point<Clock, From>& from,
                                           const std::chrono::time_point<Clock, To>& to) noexcept {
    // Some clocks count from a time 148 years away, so that nearly all of the range is needed here.
    constexpr clock::duration most = clock::duration::max() - std::chrono::seconds(1);
    const clock::duration begin = bounded(from.time_since_epoch(), most);
    const clock::duration end = bounded(to.time_since_epoch(), most);
    clock::rep length = 0;
    if (__builtin_sub_overflow(end.count(), begin.count(), &length))
        return bounded(end > begin ? most : -most);
    return bounded(clock::duration(length));
}

/// Whether `Clock` is the library's. (Asked of a time point: the checking build's clock shares its type.)
template <class Clock>
inline constexpr bool is_own_clock = std::is_same_v<Clock, clock::time_point::clock>;

} // namespace ekiden::inline EKIDEN_ABI::sys
