/// Contexts that threads of the program run.
///
/// Part: loop. Used by: programs. Brings in every public header of the part.
#pragma once

#include <ekiden/loop/loop_context.hpp>
#include <ekiden/loop/loop_pool.hpp>
