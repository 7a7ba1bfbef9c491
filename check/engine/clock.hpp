/// sys::clock of the checking build. It shows virtual time, which advances when threads spin and when waits
/// time out.
///
/// Part: check (engine). Included by src/ekiden/sys/clock.hpp when EKIDEN_CHECKING is set.
#pragma once

#include <check/engine/access.hpp>
#include <ekiden/sys/config.hpp>

#include <chrono>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

struct clock {
    using duration = std::chrono::steady_clock::duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::steady_clock::time_point;
    static constexpr bool is_steady = true;

    static time_point now() noexcept {
        return time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(check::time_ns())));
    }
};

inline std::uint64_t now_ns() noexcept { return check::time_ns(); }

inline void spin_hint(std::source_location where = std::source_location::current()) noexcept {
    check::spin(true, where); // a loop of spin hints may give up after some rounds
}

} // namespace ekiden::inline EKIDEN_ABI::sys
