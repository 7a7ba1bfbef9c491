/// Thread pools.
///
/// Part: pool. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/pool/add_metrics.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/pool/slow_task.hpp>
#include <ekiden/pool/stall.hpp>
#include <ekiden/pool/thread_pool.hpp>
