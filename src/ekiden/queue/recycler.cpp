#include <ekiden/queue/recycler.hpp>

#include <ekiden/queue/slab_heap.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/poison.hpp>
#include <ekiden/sys/thread.hpp>

namespace ekiden::inline EKIDEN_ABI::recycler {
namespace {

/// The depot of the process. The depot is never destroyed, because threads may free tasks while static
/// objects are destroyed.
slab_depot& depot() noexcept {
    alignas(slab_depot) static constinit std::byte memory[sizeof(slab_depot)]{};
    static slab_depot& instance = *::new (memory) slab_depot;
    return instance;
}

/// Holds the depot's lock during a fork(). In the child, the heaps of the threads that do not exist there are
/// lost.
[[maybe_unused]] const bool is_held_across_forks =
    sys::at_fork([] { depot().lock(); }, [] { depot().unlock(); }, [] { depot().unlock(); });

/// The data of each thread. The struct is trivial, so a thread can use its data until the thread's last
/// instruction.
struct thread_cache {
    slab_heap* heap = nullptr;
    slab* freed_slab = nullptr; // the slab of the last freed node
    std::uint64_t freed = 0;    // the bits that are not set yet in the header of freed_slab
    unsigned freed_class = 0;   // the size class of freed_slab
};

void flush_freed(thread_cache& cache) noexcept {
    if (cache.freed_slab == nullptr) return;
    cache.freed_slab->free(cache.freed, cache.freed_class);
    cache.freed_slab = nullptr;
    cache.freed = 0;
}

void leave(void*) noexcept {
    thread_cache& cache = sys::local<thread_cache>();
    flush_freed(cache);
    cache.heap->trim();
    depot().give_back(cache.heap);
    cache.heap = nullptr;
}

/// Gives the thread a heap until the thread ends. Returns false if the thread has already run its actions for
/// thread exit. Throws std::bad_alloc.
bool enter(thread_cache& cache) {
    slab_heap* const heap = depot().adopt();
    bool leaves = false;
    try {
        leaves = sys::at_thread_exit(&leave, nullptr);
    } catch (...) {
        depot().give_back(heap);
        throw;
    }
    if (leaves)
        cache.heap = heap;
    else
        depot().give_back(heap);
    return leaves;
}

EKIDEN_NOINLINE void* allocate_first(thread_cache& cache, unsigned size_class) {
    if (enter(cache)) return cache.heap->allocate(size_class);
    struct loan {
        slab_heap* heap = depot().adopt();
        ~loan() { depot().give_back(heap); }
    } borrowed;
    return borrowed.heap->allocate(size_class);
}

/// Gives the thread a heap before the thread frees its first node. Returns false if the thread cannot have a
/// heap. Such a thread must not collect freed nodes, because no call would flush them at the end of the
/// thread.
EKIDEN_NOINLINE bool enter_to_free(thread_cache& cache) noexcept {
    try {
        return enter(cache);
    } catch (const std::bad_alloc&) {
        return false;
    }
}

} // namespace

void* allocate(unsigned size_class) {
    thread_cache& cache = sys::local<thread_cache>();
    void* const node =
        cache.heap != nullptr ? cache.heap->allocate(size_class) : allocate_first(cache, size_class);
    sys::open_memory(node, node_bytes(size_class));
    return node;
}

void deallocate(void* node, unsigned size_class) noexcept {
    // Poisons the node before the node's bit is set, because another thread may allocate the node after that.
    // The slab's header is not poisoned.
    sys::close_memory(node, node_bytes(size_class));
    thread_cache& cache = sys::local<thread_cache>();
    slab* const from = slab::of(node);
    const std::uint64_t bit = slab::bit_of(node);
    if (cache.heap == nullptr && !enter_to_free(cache)) [[unlikely]] {
        from->free(bit, size_class);
        return;
    }
    if (cache.heap->take_back(from, bit, size_class)) return;
    if (from != cache.freed_slab) {
        flush_freed(cache);
        cache.freed_slab = from;
        cache.freed_class = size_class;
    }
    sys::expects((cache.freed & bit) == 0, freed_twice);
    cache.freed |= bit;
}

void flush() noexcept { flush_freed(sys::local<thread_cache>()); }

std::size_t footprint() noexcept { return depot().footprint(); }

} // namespace ekiden::inline EKIDEN_ABI::recycler
