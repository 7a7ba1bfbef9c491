/// What an awaited operation throws that was stopped and has no result to say so in, and what those are told
/// that wait for a coroutine which an executor has dropped.
///
/// Part: async. Used by: everything that can be awaited; programs, which catch it.
#pragma once

#include <ekiden/sys/config.hpp>

#include <exception>
#include <string>
#include <system_error>

namespace ekiden::inline EKIDEN_ABI {

/// The error is std::errc::operation_canceled. It is no failure: whoever asked for the stop expects it.
class operation_canceled : public std::system_error {
public:
    /// `where` is the operation that was stopped. Throws std::bad_alloc.
    explicit operation_canceled(const char* where)
        : std::system_error(std::make_error_code(std::errc::operation_canceled),
                            std::string("ekiden: ") + where) {}
};

namespace detail {

/// One that is not thrown here. Without memory it is a std::bad_alloc.
[[nodiscard]] inline std::exception_ptr canceled(const char* where) noexcept {
    try {
        throw operation_canceled(where);
    } catch (...) {
        return std::current_exception();
    }
}

} // namespace detail

} // namespace ekiden::inline EKIDEN_ABI
