#include <ekiden/sys/own_memory.hpp>

#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {

bool copy_if_readable(void* to, const void* from, std::size_t size) noexcept {
    SIZE_T copied = 0;
    return ::ReadProcessMemory(::GetCurrentProcess(), from, to, size, &copied) != 0 && copied == size;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
