#include <ekiden/sys/own_memory.hpp>

#include <cerrno>
#include <sys/uio.h>
#include <unistd.h>

namespace ekiden::inline EKIDEN_ABI::sys {

bool copy_if_readable(void* to, const void* from, std::size_t size) noexcept {
    const int before = errno;
    const iovec local{to, size};
    const iovec remote{const_cast<void*>(from), size}; // NOLINT: the call only reads it
    const ssize_t copied = ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0);
    errno = before;
    return copied == static_cast<ssize_t>(size);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
