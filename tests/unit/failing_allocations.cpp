#include "failing_allocations.hpp"

#include <ekiden/sys/config.hpp>

#if !defined(EKIDEN_TSAN)
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#if defined(_WIN32)
#include <malloc.h>
#endif

namespace ekiden_test {
namespace {

thread_local long until_failure = -1; // -1 if none fails
std::atomic<long> calls{0};
std::atomic<long> live{0};

#if defined(_WIN32)
void* system_memory(std::size_t alignment, std::size_t size) { return ::_aligned_malloc(size, alignment); }
void free_system_memory(void* memory) { ::_aligned_free(memory); }
#else
void* system_memory(std::size_t alignment, std::size_t size) { return std::aligned_alloc(alignment, size); }
void free_system_memory(void* memory) { std::free(memory); }
#endif

void* allocate(std::size_t size, std::size_t alignment) {
    ++calls;
    if (until_failure >= 0 && until_failure-- == 0) throw std::bad_alloc();
    const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
    void* const memory = system_memory(alignment, rounded == 0 ? alignment : rounded);
    if (memory == nullptr) throw std::bad_alloc();
    ++live;
    return memory;
}

void release(void* memory) noexcept {
    if (memory != nullptr) --live;
    free_system_memory(memory);
}

} // namespace

failing_allocation::failing_allocation(long n) { until_failure = n; }
failing_allocation::~failing_allocation() { until_failure = -1; }
bool failing_allocation::has_failed() const { return until_failure < 0; }
long allocation_count() { return calls; }
long live_allocation_count() { return live; }

} // namespace ekiden_test

void* operator new(std::size_t size) { return ekiden_test::allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return ekiden_test::allocate(size, static_cast<std::size_t>(alignment));
}
// Because the sanitizers' version does not call this one.
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void operator delete[](void* memory) noexcept { ekiden_test::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { ekiden_test::release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { ekiden_test::release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { ekiden_test::release(memory); }
void operator delete(void* memory) noexcept { ekiden_test::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { ekiden_test::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { ekiden_test::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { ekiden_test::release(memory); }
#else
namespace ekiden_test {

failing_allocation::failing_allocation(long) {}
failing_allocation::~failing_allocation() {}
bool failing_allocation::has_failed() const { return false; }
long allocation_count() { return 0; }
long live_allocation_count() { return 0; }

} // namespace ekiden_test
#endif
