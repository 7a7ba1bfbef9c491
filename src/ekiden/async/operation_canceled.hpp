/// The exception of an awaited operation that was stopped.
///
/// Part: async. Used by: everything that can be awaited; programs, which catch it.
#pragma once

#include <ekiden/sys/config.hpp>

#include <exception>
#include <string>
#include <system_error>

namespace ekiden::inline EKIDEN_ABI {

/// Thrown by an awaited operation that was stopped and whose result cannot say so. Also the outcome of a
/// coroutine that an executor has refused or dropped. The error code is std::errc::operation_canceled. It is
/// not a failure: the program asked for the stop.
class operation_canceled : public std::system_error {
public:
    /// Makes the exception. `where` names the operation that was stopped. Throws std::bad_alloc.
    explicit operation_canceled(const char* where)
        : std::system_error(std::make_error_code(std::errc::operation_canceled),
                            std::string("ekiden: ") + where) {}
};

namespace detail {

/// Returns such an exception without throwing it; a std::bad_alloc if there is no memory.
[[nodiscard]] inline std::exception_ptr canceled(const char* where) noexcept {
    try {
        throw operation_canceled(where);
    } catch (...) {
        return std::current_exception();
    }
}

} // namespace detail

} // namespace ekiden::inline EKIDEN_ABI
