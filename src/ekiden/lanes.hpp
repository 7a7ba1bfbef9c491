/// Lanes: tasks of one key run in order, tasks of different keys run in parallel.
///
/// Part: lanes. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/lanes/lanes.hpp>
#include <ekiden/lanes/lanes_options.hpp>
