/// The urgency of a task.
///
/// Part: execution. Used by: programs, pools.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The order in which a worker dequeues tasks: high priority first. If a worker always finds tasks of a
/// higher level, it still runs a task of a lower level at least once per 256 tasks. So no task waits forever.
enum class priority : std::uint8_t { high, normal, low };

} // namespace ekiden::inline EKIDEN_ABI
