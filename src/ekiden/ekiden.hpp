/// Includes all public headers of the library.
#pragma once

#include <ekiden/async.hpp>
#include <ekiden/execution.hpp>
#include <ekiden/flow.hpp>
#include <ekiden/fork.hpp>
#include <ekiden/future.hpp>
#include <ekiden/lanes.hpp>
#include <ekiden/loop.hpp>
#include <ekiden/observe.hpp>
#include <ekiden/pool.hpp>
#include <ekiden/records.hpp>
#include <ekiden/sim.hpp>
#include <ekiden/sync.hpp>
#include <ekiden/timer.hpp>
#include <ekiden/version.hpp>
