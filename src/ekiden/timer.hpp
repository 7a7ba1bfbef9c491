/// Timers.
///
/// Part: timer. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/timer/steady_timer.hpp>
#include <ekiden/timer/system_timer.hpp>
#include <ekiden/timer/waitable_timer.hpp>
