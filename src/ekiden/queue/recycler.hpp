/// Memory for tasks: nodes of 64, 128 and 256 bytes that are reused without an allocator and without
/// scattering; for frames of coroutines also of 512 and 1024.
///
/// Part: queue. Used by: task, future, execution, async.
///
/// Each thread has a heap of 4 KiB slabs and hands out the nodes of one slab after the other, by address. Any
/// thread may free a node: it sets the node's bit in the slab's header, and collects bits of one slab to set
/// them at once. The thread that frees half of a slab gives the slab back to its heap. So neighbours in
/// memory stay neighbours in time, whichever thread frees them, a free costs a fraction of an atomic
/// operation, and an allocation reads no memory that another core has written. After D. Leijen et al.,
/// "Mimalloc: Free List Sharding in Action" (2019), with bit masks instead of free lists.
///
/// A thread's heap is passed on when the thread ends; slabs without a live node go back to a depot for all
/// threads. Memory that the depot has taken from the system is kept for the life of the process.
#pragma once

#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Thread-safe; every function may be called by any thread at any time, also during the destruction of static
/// and thread_local objects.
namespace recycler {

/// Bytes of the largest recycled node for an object; what is larger goes to operator new.
inline constexpr std::size_t max_node = 256;
/// The same for a coroutine's frame. (A slab has 7 nodes of 512 bytes, 3 of 1024.)
inline constexpr std::size_t max_frame = 1024;

/// The index of the smallest node size that holds `bytes`, 0 to 4. `bytes` is at most max_frame.
[[nodiscard]] constexpr unsigned size_class(std::size_t bytes) noexcept {
    return bytes <= 64 ? 0U : bytes <= 128 ? 1U : bytes <= 256 ? 2U : bytes <= 512 ? 3U : 4U;
}

/// A node of the given size class, aligned to 64 bytes. Throws std::bad_alloc.
[[nodiscard]] void* allocate(unsigned size_class);

/// Takes back a node that allocate() returned for the same size class. It is a release that the allocate()
/// returning the node again acquires.
void deallocate(void* node, unsigned size_class) noexcept;

/// Gives back what this thread has freed and collected. Called by threads that are about to sleep.
void flush() noexcept;

/// Bytes taken from the system so far, by all threads.
[[nodiscard]] std::size_t footprint() noexcept;

/// Whether objects of type T are kept in recycled nodes.
template <class T>
inline constexpr bool holds = sizeof(T) <= max_node && alignof(T) <= 64;

/// A new T in a recycled node, or from operator new if it fits in none. Throws std::bad_alloc and what T's
/// constructor throws; then nothing is left behind.
template <class T, class... Args>
[[nodiscard]] T* create(Args&&... args) {
    if constexpr (holds<T>) {
        void* const node = allocate(size_class(sizeof(T)));
        if constexpr (noexcept(T(std::forward<Args>(args)...))) {
            return ::new (node) T(std::forward<Args>(args)...);
        } else {
            try {
                return ::new (node) T(std::forward<Args>(args)...);
            } catch (...) {
                deallocate(node, size_class(sizeof(T)));
                throw;
            }
        }
    } else {
        return new T(std::forward<Args>(args)...);
    }
}

/// Frees the memory of an object made by create(), whose lifetime has ended.
template <class T>
void free_memory(T* object) noexcept {
    if constexpr (holds<T>)
        deallocate(object, size_class(sizeof(T)));
    else if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
        ::operator delete(object, sizeof(T), std::align_val_t{alignof(T)});
    else
        ::operator delete(object, sizeof(T));
}

/// Ends an object made by create().
template <class T>
void destroy(T* object) noexcept {
    object->~T();
    free_memory(object);
}

} // namespace recycler
} // namespace ekiden::inline EKIDEN_ABI
