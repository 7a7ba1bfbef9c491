/// The urgency of a task.
///
/// Part: execution. Used by: programs, pools.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The priority of a task. A worker dequeues tasks of higher priority first. Even if tasks of higher priority
/// are always queued, a worker runs a task of a lower priority at least once per 256 tasks. So no task waits
/// forever.
enum class priority : std::uint8_t { high, normal, low };

} // namespace ekiden::inline EKIDEN_ABI
