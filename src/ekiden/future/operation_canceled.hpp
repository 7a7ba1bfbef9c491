/// The exception of what was stopped or dropped before its end.
///
/// Part: future. Used by: programs, fork, async, flow, adapter, kafka, postgres.
#pragma once

#include <ekiden/sys/config.hpp>

#include <exception>
#include <string>
#include <system_error>

namespace ekiden::inline EKIDEN_ABI {

/// Thrown by a wait for a task or coroutine that was canceled, refused or dropped. Also thrown by an awaited
/// operation, a run or a parallel algorithm that was stopped, unless its result reports the stop. The error
/// code is std::errc::operation_canceled. The exception reports a stop that the program has requested, so it
/// is usually not an error.
class operation_canceled : public std::system_error {
public:
    /// Makes an exception. `where` is the text of the message, which names the operation. Throws
    /// std::bad_alloc.
    explicit operation_canceled(const char* where)
        : std::system_error(std::make_error_code(std::errc::operation_canceled),
                            std::string("ekiden: ") + where) {}
};

namespace detail {

/// Returns an operation_canceled as an exception pointer, without throwing. Returns a std::bad_alloc if there
/// is no memory.
[[nodiscard]] inline std::exception_ptr canceled_error(const char* where) noexcept {
    try {
        throw operation_canceled(where);
    } catch (...) {
        return std::current_exception();
    }
}

} // namespace detail

} // namespace ekiden::inline EKIDEN_ABI
