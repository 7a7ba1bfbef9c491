/// Memory for tasks and coroutine frames. A task uses a reusable node of 64, 128 or 256 bytes. A coroutine
/// frame can also use a node of 512 or 1024 bytes.
///
/// Part: queue. Used by: adapter, async, execution, future, lanes, loop, pool, queue, timer.
///
/// Each thread has a heap of slabs. A slab is a block of 4 KiB, which is divided into nodes. A thread uses
/// one slab after the other, and allocates the nodes of a slab in the order of their addresses. Any thread
/// may free a node. To free a node, a thread sets the bit of the node in the header of the slab. A thread
/// first collects the bits of several nodes of a slab, and then sets these bits in one atomic operation. When
/// half of a slab has become free, the thread that freed the last of these nodes returns the slab to the
/// slab's heap.
///
/// So consecutive allocations return neighboring nodes, even if different threads have freed these nodes. On
/// average, a free costs less than one atomic operation. An allocation reads no memory that another core has
/// written. The design is modeled on Leijen et al., "Mimalloc: Free List Sharding in Action" (2019), but uses
/// bit masks instead of free lists.
///
/// When a thread ends, another thread can get the heap of this thread. The slabs that have no node in use go
/// to a depot, which serves all threads. The depot returns no memory to the system.
#pragma once

#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// All functions are thread-safe. A thread may call these functions even while static or thread_local objects
/// are destroyed.
namespace recycler {

/// The size in bytes of the largest recycled node for an object. Memory for larger objects comes from
/// operator new.
inline constexpr std::size_t max_node = 256;
/// The size in bytes of the largest recycled node for a coroutine's frame. A slab has room for 7 nodes of 512
/// bytes, or for 3 nodes of 1024 bytes.
inline constexpr std::size_t max_frame = 1024;

/// Returns the size class for an object of `bytes` bytes. The size class is the index, from 0 to 4, of the
/// smallest node size that suffices. `bytes` must be at most max_frame.
[[nodiscard]] constexpr unsigned size_class(std::size_t bytes) noexcept {
    return bytes <= 64 ? 0U : bytes <= 128 ? 1U : bytes <= 256 ? 2U : bytes <= 512 ? 3U : 4U;
}

/// Allocates a node of the given size class, aligned to 64 bytes. Throws std::bad_alloc.
[[nodiscard]] void* allocate(unsigned size_class);

/// Frees a node that allocate() has returned for the same size class. Everything before this call happens
/// before the return of the allocate() call that returns the node again.
void deallocate(void* node, unsigned size_class) noexcept;

/// Returns to the slabs all nodes that this thread has freed and collected. A thread calls this function
/// before it sleeps.
void flush() noexcept;

/// Returns how many bytes the depot has allocated from the system so far.
[[nodiscard]] std::size_t footprint() noexcept;

/// True if create() uses recycled nodes for objects of type T.
template <class T>
inline constexpr bool holds = sizeof(T) <= max_node && alignof(T) <= 64;

/// Creates a T in a recycled node, or with operator new if no node is large enough. Throws std::bad_alloc,
/// and whatever T's constructor throws. A call that throws has no effect.
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

/// Frees the memory of an object that create() has made. The object must already be destroyed.
template <class T>
void free_memory(T* object) noexcept {
    if constexpr (holds<T>)
        recycler::deallocate(object, size_class(sizeof(T)));
    else if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
        ::operator delete(object, sizeof(T), std::align_val_t{alignof(T)});
    else
        ::operator delete(object, sizeof(T));
}

/// Destroys an object that create() has made, and frees its memory.
template <class T>
void destroy(T* object) noexcept {
    object->~T();
    recycler::free_memory(object);
}

} // namespace recycler
} // namespace ekiden::inline EKIDEN_ABI
