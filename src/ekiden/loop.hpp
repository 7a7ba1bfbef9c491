/// Contexts whose tasks run in threads of the program.
///
/// Part: loop. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/loop/loop_context.hpp>
#include <ekiden/loop/loop_pool.hpp>
