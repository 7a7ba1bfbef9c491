/// The array of a ring with one writer: a power of two of slots. A full array is replaced by one of twice the
/// size.
///
/// Part: queue. Used by: chase_lev_deque, injection_ring.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// Slots for pointers, addressed by a running index. There is one writer. Readers may still use an array that
/// has been replaced: it is no longer written, and lives until the destructor. The old arrays together are
/// smaller than the current one.
template <class T>
class circular_array {
public:
    class slots {
    public:
        explicit slots(std::size_t count) : mask_(count - 1), slots_(new sys::atomic<T*>[count]()) {}

        [[nodiscard]] std::uint64_t capacity() const noexcept { return mask_ + 1; }
        [[nodiscard]] sys::atomic<T*>& at(std::uint64_t index) noexcept { return slots_[index & mask_]; }

    private:
        const std::uint64_t mask_;
        const std::unique_ptr<sys::atomic<T*>[]> slots_;
    };

    /// `capacity` is a power of two. Throws std::bad_alloc.
    explicit circular_array(std::size_t capacity) {
        arrays_.push_back(std::make_unique<slots>(capacity));
        current_.store(arrays_.back().get(), sys::relaxed);
    }

    /// Writer: returns the array in use.
    [[nodiscard]] slots* current() const noexcept { return current_.load(sys::relaxed); }

    /// Any thread: returns the array in use. A reader that has acquired an index from the writer gets an
    /// array that contains the index.
    [[nodiscard]] slots* current_for_reader() const noexcept {
        return current_.load(sys::acquire); // [CA1] Pairs with the release in grow().
    }

    /// Writer: replaces the array by one of twice the size, with the elements of [first, last). Throws
    /// std::bad_alloc, and then has no effect.
    slots* grow(std::uint64_t first, std::uint64_t last) {
        slots* const full = current();
        arrays_.push_back(std::make_unique<slots>(2 * full->capacity()));
        slots* const larger = arrays_.back().get();
        for (std::uint64_t i = first + (EKIDEN_MUTANT(ring_copies_too_little) ? 1 : 0); i != last; ++i) {
            larger->at(i).store(full->at(i).load(sys::relaxed), sys::relaxed);
        }
        // [CA1] Release: publishes the elements, because a reader may see the array before the writer's next
        // index. Pairs with the acquire in current_for_reader().
        current_.store(larger, sys::release);
        return larger;
    }

private:
    sys::atomic<slots*> current_{nullptr};
    std::vector<std::unique_ptr<slots>> arrays_;
};

} // namespace ekiden::inline EKIDEN_ABI
