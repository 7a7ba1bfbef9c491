/// An executor whose dispatch() calls the function directly.
///
/// Part: execution. Used by: programs, for continuations that are too short to be queued.
#pragma once

#include <ekiden/execution/system_executor.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// An executor whose dispatch() calls the function at once, on any thread. post() and defer() must not do
/// that, so they pass the function to the system_executor. The context is that of the system_executor, too.
/// All objects of this type are equal.
class inline_executor : public system_executor {
public:
    friend bool operator==(const inline_executor&, const inline_executor&) noexcept { return true; }
};

} // namespace ekiden::inline EKIDEN_ABI
