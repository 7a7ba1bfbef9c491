/// Timers that follow the system's clock: "at noon". When the clock is set, they follow within a tenth of a
/// second.
///
/// Part: timer. Used by: programs.
#pragma once

#include <ekiden/timer/waitable_timer.hpp>

#include <chrono>

namespace ekiden::inline EKIDEN_ABI {

/// A timer of std::chrono::system_clock.
using system_timer = basic_waitable_timer<std::chrono::system_clock>;

} // namespace ekiden::inline EKIDEN_ABI
