/// Memory for tasks: reusable nodes of 64, 128 and 256 bytes. Frames of coroutines use nodes of 512 and 1024
/// bytes, too.
///
/// Part: queue. Used by: task, future, execution, async.
///
/// Each thread has a heap of 4 KiB slabs, and allocates the nodes of one slab after the other, by address.
/// Any thread may free a node: it sets the node's bit in the header of the slab. It collects the bits of one
/// slab to set them at once. The thread that frees half of a slab returns the slab to its heap.
///
/// So neighbors in memory are allocated one after the other, whichever thread has freed them. A free costs a
/// fraction of an atomic operation, and an allocation reads no memory that another core has written. Modeled
/// on D. Leijen et al., "Mimalloc: Free List Sharding in Action" (2019), with bit masks instead of free
/// lists.
///
/// When a thread ends, another thread gets its heap. Slabs without a live node go to a depot for all threads.
/// The depot keeps its memory for the life of the process.
#pragma once

#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Any thread may call every function at any time, also during the destruction of static and thread_local
/// objects.
namespace recycler {

/// The size of the largest recycled node for an object, in bytes. Larger objects use operator new.
inline constexpr std::size_t max_node = 256;
/// The size of the largest recycled node for a coroutine's frame. A slab has 7 nodes of 512 bytes, or 3 of
/// 1024.
inline constexpr std::size_t max_frame = 1024;

/// Returns the index of the smallest node size that holds `bytes`, 0 to 4. `bytes` is at most max_frame.
[[nodiscard]] constexpr unsigned size_class(std::size_t bytes) noexcept {
    return bytes <= 64 ? 0U : bytes <= 128 ? 1U : bytes <= 256 ? 2U : bytes <= 512 ? 3U : 4U;
}

/// Allocates a node of the given size class, aligned to 64 bytes. Throws std::bad_alloc.
[[nodiscard]] void* allocate(unsigned size_class);

/// Frees a node that allocate() returned for the same size class. It releases, and the allocate() that
/// returns the node again acquires.
void deallocate(void* node, unsigned size_class) noexcept;

/// Returns the freed nodes that this thread has collected to their slabs. Called by threads that are about to
/// sleep.
void flush() noexcept;

/// Returns how many bytes all threads have taken from the system so far.
[[nodiscard]] std::size_t footprint() noexcept;

/// Whether objects of type T are kept in recycled nodes.
template <class T>
inline constexpr bool holds = sizeof(T) <= max_node && alignof(T) <= 64;

/// Creates a T in a recycled node, or with operator new if no node is large enough. Throws std::bad_alloc and
/// whatever T's constructor throws, and then has no effect.
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

/// Frees the memory of an object made by create() whose lifetime has ended.
template <class T>
void free_memory(T* object) noexcept {
    if constexpr (holds<T>)
        deallocate(object, size_class(sizeof(T)));
    else if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
        ::operator delete(object, sizeof(T), std::align_val_t{alignof(T)});
    else
        ::operator delete(object, sizeof(T));
}

/// Destroys an object made by create().
template <class T>
void destroy(T* object) noexcept {
    object->~T();
    free_memory(object);
}

} // namespace recycler
} // namespace ekiden::inline EKIDEN_ABI
