/// How urgent a task is.
///
/// Part: execution. Used by: programs, pools.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Which tasks a worker takes first. A worker that always finds tasks of a higher level still takes one of
/// the others at least every 256 tasks, so that none waits for ever.
enum class priority : std::uint8_t { high, normal, low };

} // namespace ekiden::inline EKIDEN_ABI
