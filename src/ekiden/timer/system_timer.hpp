/// Timers that follow the system clock, for example a timer that expires at noon. If a program sets the
/// system clock, the timers use the new time within a tenth of a second.
///
/// Part: timer. Used by: programs.
#pragma once

#include <ekiden/timer/waitable_timer.hpp>

#include <chrono>

namespace ekiden::inline EKIDEN_ABI {

/// A timer of std::chrono::system_clock.
using system_timer = basic_waitable_timer<std::chrono::system_clock>;

} // namespace ekiden::inline EKIDEN_ABI
