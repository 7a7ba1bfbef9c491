/// Timers that follow the monotonic clock. Changes of the system time do not affect these timers.
///
/// Part: timer. Used by: programs.
#pragma once

#include <ekiden/timer/waitable_timer.hpp>

#include <chrono>

namespace ekiden::inline EKIDEN_ABI {

/// A timer of std::chrono::steady_clock.
using steady_timer = basic_waitable_timer<std::chrono::steady_clock>;

} // namespace ekiden::inline EKIDEN_ABI
