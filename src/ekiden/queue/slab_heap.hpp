/// The parts of the recycler: slabs, the heap of a thread, and the depot for all heaps.
///
/// Part: queue. Used by: queue. Only recycler.cpp includes this header.
#pragma once

#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/lock.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::recycler {

class slab_heap;
class slab_depot;

inline constexpr unsigned size_classes = 5;
inline constexpr std::size_t unit = 64;
inline constexpr std::size_t slab_bytes = 64 * unit;
inline constexpr const char* freed_twice = "the memory of a task was freed twice";

/// Returns a mask with one bit for each node of a slab of the given size class. Bit i stands for the node
/// that starts at unit i of the slab. Unit 0 is the header of the slab.
[[nodiscard]] constexpr std::uint64_t node_bits(unsigned size_class) noexcept {
    const unsigned units = 1U << size_class;
    std::uint64_t bits = 0;
    for (unsigned first = 1; first + units <= 64; first += units) bits |= std::uint64_t{1} << first;
    return bits;
}

/// Returns the number of bits in node_bits().
[[nodiscard]] constexpr int node_count(unsigned size_class) noexcept { return 63 >> size_class; }
static_assert([] {
    for (unsigned c = 0; c != size_classes; ++c)
        if (std::popcount(node_bits(c)) != node_count(c)) return false;
    return true;
}());

[[nodiscard]] constexpr std::size_t node_bytes(unsigned size_class) noexcept { return unit << size_class; }

/// The header of a slab. A slab is a block of 4 KiB that is aligned to 4 KiB. The first 64 bytes of a slab
/// are the header. The other bytes are nodes of one size class. After a thread has set the bit of a freed
/// node, the owner may give the unused slab away. So the thread must not use the header any more, unless the
/// thread must return the slab. For this reason, the caller passes the size class to the functions, and the
/// header does not contain the size class.
///
/// The bits of freed_:
///  * Bit 0 (`detached`) is set while the owner has no pointer to this slab. The owner sets and clears it.
///  * Bit i, from 1 to 63, is set if the node that starts at unit i has been freed. The freeing thread sets
///    this bit, and the owner clears it.
class alignas(unit) slab {
public:
    static constexpr std::uint64_t detached = 1;

    explicit slab(slab_heap& owner) noexcept : owner_(&owner) {}

    [[nodiscard]] static slab* of(void* node) noexcept {
        return reinterpret_cast<slab*>(reinterpret_cast<std::uintptr_t>(node) & ~(slab_bytes - 1));
    }
    [[nodiscard]] static std::uint64_t bit_of(void* node) noexcept {
        return std::uint64_t{1} << ((reinterpret_cast<std::uintptr_t>(node) & (slab_bytes - 1)) / unit);
    }
    [[nodiscard]] void* node_at(unsigned first_unit) noexcept {
        return reinterpret_cast<std::byte*>(this) + first_unit * unit;
    }

    /// Any thread: frees the nodes `bits`. If half of the slab becomes free, returns the slab to its owner.
    void free(std::uint64_t bits, unsigned size_class) noexcept;

    /// Owner: takes the free nodes, and clears the bit that marks the slab as detached.
    [[nodiscard]] std::uint64_t take() noexcept;

    /// Called by the owner when it has used all free nodes of the slab. If at least half of the slab has been
    /// freed since, takes the freed nodes. Otherwise detaches the slab, and returns no nodes. As soon as half
    /// of a detached slab is free, the thread that freed the last node of this half returns the slab to the
    /// owner.
    [[nodiscard]] std::uint64_t take_or_detach(unsigned size_class) noexcept;

    /// Owner: returns true if no node of the slab is in use. `at_hand` contains the bits of the nodes that
    /// the owner has taken but not allocated.
    [[nodiscard]] bool unused(std::uint64_t at_hand, unsigned size_class) const noexcept;

    sys::cell<slab*> next{nullptr}; ///< the next slab in a list of the heap or of the depot

private:
    sys::atomic<std::uint64_t> freed_{0};
    slab_heap* owner_;
};
static_assert(sizeof(slab) == unit);

/// The slabs of one thread. Other threads may only call slab::free() for these slabs.
class slab_heap {
public:
    explicit slab_heap(slab_depot& depot) noexcept : depot_(&depot) {}

    /// Allocates the free node with the lowest address in the current slab of the size class. Throws
    /// std::bad_alloc.
    [[nodiscard]] void* allocate(unsigned size_class) {
        bin& here = bins_[size_class];
        if (here.available == 0) [[unlikely]]
            refill(here, size_class);
        const auto first_unit = static_cast<unsigned>(std::countr_zero(here.available));
        here.available &= here.available - 1;
        return here.current->node_at(first_unit);
    }

    /// Frees a node of the current slab. If the node belongs to another slab, returns false and has no
    /// effect.
    [[nodiscard]] bool take_back(slab* from, std::uint64_t bit, unsigned size_class) noexcept {
        bin& here = bins_[size_class];
        if (from != here.current) return false;
        sys::expects((here.available & bit) == 0, freed_twice);
        here.available |= bit;
        return true;
    }

    /// Moves all slabs that have no node in use to the depot.
    void trim() noexcept;

    slab_heap* next_idle = nullptr; ///< the next heap in the depot's list of heaps without a thread

private:
    friend class slab;

    struct bin {
        slab* current = nullptr;     // the slab from which nodes are allocated
        std::uint64_t available = 0; // the free nodes of this slab
        slab* ready = nullptr;       // slabs that are at least half free, oldest first
    };

    void refill(bin& here, unsigned size_class);
    [[nodiscard]] slab* collect_returned(unsigned size_class) noexcept;

    bin bins_[size_classes];
    slab_depot* depot_;
    // Stacks of the slabs that other threads have returned. Only the owner of the heap removes slabs, and the
    // owner removes all slabs of a stack at once. The stacks have cache lines of their own, because the
    // freeing threads write them.
    alignas(sys::isolation) sys::atomic<slab*> returned_[size_classes]{};
};

/// The depot contains empty slabs, and the heaps that belong to no thread. The depot is thread-safe.
class slab_depot {
public:
    /// Returns a heap for the calling thread. Throws std::bad_alloc.
    [[nodiscard]] slab_heap* adopt();
    /// Takes a heap back from a thread that ends. Nodes of the heap may still be in use.
    void give_back(slab_heap* heap) noexcept;

    /// Returns an empty slab. Throws std::bad_alloc.
    [[nodiscard]] slab* new_slab(slab_heap& owner);
    void put(slab* empty) noexcept;

    /// lock() is called before a fork(), and unlock() is called after the fork(). So in the child, the lists
    /// are consistent and the lock is free.
    void lock() noexcept { lock_.lock(); }
    void unlock() noexcept { lock_.unlock(); }

    [[nodiscard]] std::size_t footprint() const noexcept { return footprint_.load(sys::relaxed); }

private:
    struct empty_slab {
        empty_slab* next;
    };

    void grow();

    sys::slow_lock lock_;
    slab_heap* idle_heaps_ = nullptr;
    empty_slab* empty_slabs_ = nullptr;
    std::size_t next_chunk_ = 16 * slab_bytes;
    sys::atomic<std::size_t> footprint_{0};
};

} // namespace ekiden::inline EKIDEN_ABI::recycler
