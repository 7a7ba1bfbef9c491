/// Memory that this library keeps for reuse is closed to the program meanwhile, where AddressSanitizer looks.
///
/// Part: sys. Used by: queue.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>

#if defined(EKIDEN_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

/// Until open_memory() an access to these bytes is reported. Nothing without AddressSanitizer. Thread-safe.
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
