/// Poisons the memory that the library keeps for reuse, so that AddressSanitizer reports accesses to it.
///
/// Part: sys. Used by: queue.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>

#if defined(EKIDEN_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

/// Makes AddressSanitizer report every access to these bytes until open_memory() is called for them. Does
/// nothing without AddressSanitizer. Thread-safe.
inline void close_memory([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(EKIDEN_ASAN)
    __asan_poison_memory_region(memory, bytes);
#endif
}

inline void open_memory([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(EKIDEN_ASAN)
    __asan_unpoison_memory_region(memory, bytes);
#endif
}

} // namespace ekiden::inline EKIDEN_ABI::sys
