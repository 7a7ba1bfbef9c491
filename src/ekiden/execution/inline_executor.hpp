/// An executor whose dispatch() calls the function directly.
///
/// Part: execution. Used by: programs. Use an inline_executor for continuations that take less time than
/// queuing them would take.
#pragma once

#include <ekiden/execution/system_executor.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// An executor whose dispatch() calls the function at once, on any thread. The other functions, such as
/// post(), defer() and context(), are those of the system_executor. All objects of this type are equal.
class inline_executor : public system_executor {
public:
    friend bool operator==(const inline_executor&, const inline_executor&) noexcept { return true; }
};

} // namespace ekiden::inline EKIDEN_ABI
