/// A library to preload (LD_PRELOAD). It counts the calls that allocate memory, and forwards them.
///
/// operator new is counted through its call of malloc. glibc's own allocator is called by its internal names,
/// because dlsym() allocates itself.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::atomic<std::uint64_t> calls{0};

void count() { calls.fetch_add(1, std::memory_order_relaxed); }

} // namespace

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

std::uint64_t ekiden_lab_allocation_calls() { return calls.load(std::memory_order_relaxed); }

void* malloc(std::size_t size) {
    count();
    return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) {
    count();
    return __libc_calloc(number, size);
}

void* realloc(void* old, std::size_t size) {
    count();
    return __libc_realloc(old, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
    count();
    void* memory = __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *result = memory;
    return 0;
}

void* mmap(void* address, std::size_t length, int protection, int flags, int file, off_t offset) {
    count();
    return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, file, offset));
}

} // extern "C"
