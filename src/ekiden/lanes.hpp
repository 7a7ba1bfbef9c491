/// Lanes run the tasks of each key in order, and run the tasks of different keys in parallel.
///
/// Part: lanes. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/lanes/lane_executor.hpp>
#include <ekiden/lanes/lane_turn.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/lanes/lanes_options.hpp>
