/// The stack of the calling thread: where it lies, and how much of it is left.
///
/// Part: sys. Used by: context.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// A range of addresses. Stacks grow toward `low`.
struct stack_range {
    std::uintptr_t low = 0;
    std::size_t size = 0; ///< in bytes; 0 if the system does not tell
};

/// Returns the stack that the system has given to the calling thread. May read a file, so it is called once
/// for each thread.
[[nodiscard]] stack_range this_thread_stack() noexcept;

/// Returns an address in the stack frame of the calling function.
[[nodiscard]] EKIDEN_ALWAYS_INLINE inline std::uintptr_t stack_address() noexcept {
#if defined(__GNUC__)
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#else
    return reinterpret_cast<std::uintptr_t>(_AddressOfReturnAddress());
#endif
}

} // namespace ekiden::inline EKIDEN_ABI::sys
