/// Simulations of a program, in which a seed decides the order of tasks and the time.
///
/// Part: sim. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/explore.hpp>
#include <ekiden/sim/fault.hpp>
#include <ekiden/sim/link.hpp>
#include <ekiden/sim/options.hpp>
#include <ekiden/sim/sim_context.hpp>
