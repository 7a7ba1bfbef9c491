/// An executor that calls in place what may be called in place.
///
/// Part: execution. Used by: programs, for continuations that are too short to be passed on.
#pragma once

#include <ekiden/execution/system_executor.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// dispatch() calls at once, on whatever thread. post() and defer() must not, and give the function to the
/// system_executor, whose context this has. All objects of this type are equal.
class inline_executor : public system_executor {
public:
    friend bool operator==(const inline_executor&, const inline_executor&) noexcept { return true; }
};

} // namespace ekiden::inline EKIDEN_ABI
