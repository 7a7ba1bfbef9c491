/// Timers.
///
/// Part: timer. Used by: programs. Brings in every public header of the part.
#pragma once

#include <ekiden/timer/steady_timer.hpp>
#include <ekiden/timer/system_timer.hpp>
#include <ekiden/timer/waitable_timer.hpp>
