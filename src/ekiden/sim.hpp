/// Simulations: a program's threads and clock under a seed.
///
/// Part: sim. Used by: programs. Brings in every public header of the part.
#pragma once

#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/explore.hpp>
#include <ekiden/sim/fault.hpp>
#include <ekiden/sim/link.hpp>
#include <ekiden/sim/options.hpp>
#include <ekiden/sim/sim_context.hpp>
