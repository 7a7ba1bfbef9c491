/// The array of a ring with one writer. The number of slots is a power of two. If the array is full, the
/// writer replaces it by an array of twice the size.
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

/// Slots for pointers. An index selects the slot whose number is the index modulo the number of slots. Only
/// one thread may write. Readers may still use an array after the writer has replaced it. A replaced array no
/// longer changes, and is freed by the destructor. All replaced arrays together are smaller than the current
/// array.
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

    /// Creates an array with `capacity` slots, a power of two. Throws std::bad_alloc.
    explicit circular_array(std::size_t capacity) {
        arrays_.push_back(std::make_unique<slots>(capacity));
        current_.store(arrays_.back().get(), sys::relaxed);
    }

    /// Writer: returns the current array.
    [[nodiscard]] slots* current() const noexcept { return current_.load(sys::relaxed); }

    /// Any thread: returns the current array. If the reader has loaded an index of the writer with acquire
    /// order, the array contains the element at this index.
    [[nodiscard]] slots* current_for_reader() const noexcept {
        return current_.load(sys::acquire); // [CA1] Acquire: pairs with the release in grow().
    }

    /// Writer: replaces the array by an array of twice the size. Copies the elements with the indices [first,
    /// last). Throws std::bad_alloc. A call that throws has no effect.
    slots* grow(std::uint64_t first, std::uint64_t last) {
        slots* const full = current();
        arrays_.push_back(std::make_unique<slots>(2 * full->capacity()));
        slots* const larger = arrays_.back().get();
        for (std::uint64_t i = first + (EKIDEN_MUTANT(ring_copies_too_little) ? 1 : 0); i != last; ++i) {
            larger->at(i).store(full->at(i).load(sys::relaxed), sys::relaxed);
        }
        // [CA1] Release: publishes the copied elements, because a reader may use the new array before it sees
        // the writer's next index. Pairs with the acquire in current_for_reader().
        current_.store(larger, sys::release);
        return larger;
    }

private:
    sys::atomic<slots*> current_{nullptr};
    std::vector<std::unique_ptr<slots>> arrays_;
};

} // namespace ekiden::inline EKIDEN_ABI
