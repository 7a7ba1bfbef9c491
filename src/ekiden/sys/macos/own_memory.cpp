#include <ekiden/sys/own_memory.hpp>

#include <mach/mach.h>

namespace ekiden::inline EKIDEN_ABI::sys {

bool copy_if_readable(void* to, const void* from, std::size_t size) noexcept {
    vm_size_t copied = 0;
    return ::vm_read_overwrite(::mach_task_self(), reinterpret_cast<vm_address_t>(from), size,
                               reinterpret_cast<vm_address_t>(to), &copied)
               == KERN_SUCCESS
           && copied == size;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
