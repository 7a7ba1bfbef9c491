#include <ekiden/queue/recycler.hpp>

#include <ekiden/queue/slab_heap.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/poison.hpp>
#include <ekiden/sys/thread.hpp>

namespace ekiden::inline EKIDEN_ABI::recycler {
namespace {

/// Never destroyed, because threads may free tasks while static objects are destroyed.
slab_depot& depot() noexcept {
    alignas(slab_depot) static constinit std::byte memory[sizeof(slab_depot)]{};
    static slab_depot& instance = *::new (memory) slab_depot;
    return instance;
}

/// In the child, the heaps of the missing threads are lost.
[[maybe_unused]] const bool is_held_across_forks =
    sys::at_fork([] { depot().lock(); }, [] { depot().unlock(); }, [] { depot().unlock(); });

/// The data of each thread. It is trivial, so it can be used until the thread's last instruction.
struct thread_cache {
    slab_heap* heap = nullptr;
    slab* freed_slab = nullptr; // the slab of the last freed node
    std::uint64_t freed = 0;    // the bits of that slab that are not set in its header yet
    unsigned freed_class = 0;   // the size class of that slab
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

/// Gives the thread a heap until its end. Returns false if the thread has run its actions for the end. Throws
/// std::bad_alloc.
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

[[gnu::noinline]] void* allocate_first(thread_cache& cache, unsigned size_class) {
    if (enter(cache)) return cache.heap->allocate(size_class);
    struct loan {
        slab_heap* heap = depot().adopt();
        ~loan() { depot().give_back(heap); }
    } borrowed;
    return borrowed.heap->allocate(size_class);
}

/// Returns false if the thread cannot have a heap. Then it must not collect, because nothing would flush.
[[gnu::noinline]] bool enter_to_free(thread_cache& cache) noexcept {
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
    // Before the node's bit is set, because another thread may then get the node. The slab's header stays
    // open.
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
