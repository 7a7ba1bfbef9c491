#include <ekiden/queue/slab_heap.hpp>

#include <ekiden/sys/mutant.hpp>

#include <algorithm>
#include <bit>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI::recycler {

// ---- slab

namespace {

bool is_half_free(std::uint64_t freed, unsigned size_class) noexcept {
    return 2 * std::popcount(freed & ~slab::detached) >= node_count(size_class);
}

} // namespace

void slab::free(std::uint64_t bits, unsigned size_class) noexcept {
    // [SH1] Release: orders this thread's use of the nodes before the free. Pairs with the acquires in take()
    // and unused(). Acquire: ensures that the thread that returns the slab has seen all earlier frees.
    const std::uint64_t before = freed_.fetch_or(bits, sys::acq_rel);
    sys::expects((before & bits) == 0, freed_twice);
    // While `detached` is set, no bit is cleared. So exactly one call makes the slab half free.
    if ((before & detached) == 0
        || (is_half_free(before, size_class) && !EKIDEN_MUTANT(recycler_returns_a_slab_twice))
        || !is_half_free(before | bits, size_class))
        return;
    sys::atomic<slab*>& stack = owner_->returned_[size_class];
    slab* newest = stack.load(sys::relaxed);
    do {
        next.write(newest);
        // [SH2] Release: publishes `next`. Pairs with the acquire in collect_returned().
    } while (!stack.compare_exchange_weak(newest, this, sys::release, sys::relaxed));
}

std::uint64_t slab::take() noexcept {
    return freed_.exchange(0, sys::acquire) & ~detached; // [SH1]
}

std::uint64_t slab::take_or_detach(unsigned size_class) noexcept {
    if (is_half_free(freed_.load(sys::relaxed), size_class)) return take();
    const std::uint64_t before = freed_.fetch_or(detached, sys::relaxed); // Relaxed: take() has acquire.
    // If the slab was half free before `detached` was set, no other thread will return the slab.
    return is_half_free(before, size_class) && !EKIDEN_MUTANT(recycler_forgets_a_slab) ? take() : 0;
}

bool slab::unused(std::uint64_t at_hand, unsigned size_class) const noexcept {
    return ((freed_.load(sys::acquire) | at_hand) & ~detached) == node_bits(size_class); // [SH1]
}

// ---- slab_heap

void slab_heap::refill(bin& here, unsigned size_class) {
    if (here.current != nullptr) {
        here.available = here.current->take_or_detach(size_class);
        if (here.available != 0) return;
        here.current = nullptr;
    }
    if (here.ready == nullptr) here.ready = collect_returned(size_class);
    if (here.ready != nullptr) {
        here.current = here.ready;
        here.ready = here.ready->next.read();
        here.available = here.current->take();
        return;
    }
    here.current = depot_->new_slab(*this);
    here.available = node_bits(size_class);
}

slab* slab_heap::collect_returned(unsigned size_class) noexcept {
    slab* newest = returned_[size_class].exchange(nullptr, sys::acquire); // [SH2]
    slab* oldest_first = nullptr;
    while (newest != nullptr) {
        slab* const older = newest->next.read();
        newest->next.write(oldest_first);
        oldest_first = newest;
        newest = older;
    }
    return oldest_first;
}

void slab_heap::trim() noexcept {
    for (unsigned size_class = 0; size_class < size_classes; ++size_class) {
        bin& here = bins_[size_class];
        if (here.current != nullptr && here.current->unused(here.available, size_class)) {
            depot_->put(here.current);
            here.current = nullptr;
            here.available = 0;
        }
        slab* lists[] = {here.ready, collect_returned(size_class)};
        here.ready = nullptr;
        for (slab* list : lists) {
            while (list != nullptr) {
                slab* const next = list->next.read();
                if (list->unused(0, size_class)) {
                    depot_->put(list);
                } else {
                    list->next.write(here.ready);
                    here.ready = list;
                }
                list = next;
            }
        }
    }
}

// ---- slab_depot

slab_heap* slab_depot::adopt() {
    {
        std::lock_guard guard(lock_);
        if (idle_heaps_ != nullptr) {
            slab_heap* const heap = idle_heaps_;
            idle_heaps_ = heap->next_idle;
            return heap;
        }
    }
    return new slab_heap(*this);
}

void slab_depot::give_back(slab_heap* heap) noexcept {
    std::lock_guard guard(lock_);
    heap->next_idle = idle_heaps_;
    idle_heaps_ = heap;
}

slab* slab_depot::new_slab(slab_heap& owner) {
    void* memory = nullptr;
    {
        std::lock_guard guard(lock_);
        if (empty_slabs_ == nullptr) grow();
        memory = empty_slabs_;
        empty_slabs_ = empty_slabs_->next;
    }
    return ::new (memory) slab(owner);
}

void slab_depot::put(slab* empty) noexcept {
    empty->~slab();
    std::lock_guard guard(lock_);
    empty_slabs_ = ::new (static_cast<void*>(empty)) empty_slab{empty_slabs_};
}

void slab_depot::grow() {
    auto* const chunk = static_cast<std::byte*>(::operator new(next_chunk_, std::align_val_t{slab_bytes}));
    for (std::size_t offset = next_chunk_; offset != 0; offset -= slab_bytes) {
        empty_slabs_ = ::new (chunk + offset - slab_bytes) empty_slab{empty_slabs_};
    }
    footprint_.store(footprint_.load(sys::relaxed) + next_chunk_, sys::relaxed);
    next_chunk_ = std::min(2 * next_chunk_, 256 * slab_bytes);
}

} // namespace ekiden::inline EKIDEN_ABI::recycler
