/// The work-stealing deque: one owner pushes and pops at the bottom, thieves steal from the top.
///
/// Part: queue. Used by: pool (one per worker).
///
/// D. Chase, Y. Lev, "Dynamic Circular Work-Stealing Deque" (SPAA 2005), with the orderings of N. M. Lê et
/// al., "Correct and Efficient Work-Stealing for Weak Memory Models" (PPoPP 2013). Changed: the fence between
/// the owner's claim and its look at `top` is asymmetric, so that push and pop cost the owner no fence where
/// the kernel can make the thief's heavy; stores carry the release that stand-alone fences carry there
/// (ThreadSanitizer understands only these); claims are not seq_cst, as the fences on both sides order the
/// looks and a read-modify-write of `top` decides the rest; the owner keeps a copy of the last `top` it saw,
/// and reads the real one only when the ring seems full.
#pragma once

#include <ekiden/queue/circular_array.hpp>
#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A double-ended queue of pointers that grows. One thread at a time is the owner; any thread may steal.
/// Elements come out exactly once.
template <class T>
class chase_lev_deque {
public:
    /// `capacity` is a power of two; the ring doubles when it is full. `first_index` is where the indices
    /// start: they may wrap around, and tests start them just before. Throws std::bad_alloc.
    explicit chase_lev_deque(std::size_t capacity = 256, std::uint64_t first_index = 0)
        : top_(first_index), bottom_(first_index), top_seen_(first_index), array_(capacity) {}

    /// Owner: adds at the bottom. Throws std::bad_alloc if the ring cannot grow; then nothing has changed.
    void push(T* element) {
        const std::uint64_t bottom = bottom_.load(sys::relaxed);
        slots* here = array_.current();
        if (bottom - top_seen_ >= here->capacity()) [[unlikely]]
            here = make_room(here, bottom);
        here->at(bottom).store(element, sys::relaxed);
        // [CL1] release: the element's contents and its slot; pairs with the acquire of bottom_ in steal().
        bottom_.store(bottom + 1, sys::release);
    }

    /// Owner: takes the newest element, or null if there is none.
    [[nodiscard]] T* pop() noexcept {
        std::uint64_t bottom = bottom_.load(sys::relaxed);
        if (size(top_.load(sys::relaxed), bottom) <= 0) return nullptr;
        --bottom;
        // [CL1] release: a thief may read bottom_ from here instead of from push().
        bottom_.store(bottom, sys::release);
        // [CL2] light: the claim above before the look at top_; pairs with the heavy fence in steal(). Either
        // a thief sees the claim, or this sees the thief's advance of top_.
        sys::fence_light();
        std::uint64_t top = top_.load(sys::relaxed);
        if (size(top, bottom) > 0 || EKIDEN_MUTANT(deque_pop_forgets_the_last_item))
            return array_.current()->at(bottom).load(sys::relaxed);
        T* element = nullptr;
        if (top == bottom) { // the last one: the advance of top_ decides between the owner and the thieves
            element = array_.current()->at(bottom).load(sys::relaxed);
            // [CL3] Claims are read-modify-writes of one object: one of them takes the element. As such it
            // also passes on the releases of the earlier ones, [CL4].
            if (!top_.compare_exchange_strong(top, top + 1, sys::relaxed, sys::relaxed) // owner's claim
                && !EKIDEN_MUTANT(deque_pop_ignores_thieves))
                element = nullptr;
        }
        if (!EKIDEN_MUTANT(deque_pop_keeps_its_claim))
            bottom_.store(bottom + 1, sys::release); // [CL1] as above
        return element;
    }

    /// Owner: takes the oldest element, or null if there is none or a thief was faster.
    [[nodiscard]] T* pop_oldest() noexcept {
        std::uint64_t top = top_.load(sys::relaxed); // too old: the claim fails
        if (size(top, bottom_.load(sys::relaxed)) <= 0) return nullptr;
        T* const element = array_.current()->at(top).load(sys::relaxed);
        // As a thief's claim, but the owner's own bottom_ needs no fence to be seen.
        return top_.compare_exchange_strong(top, top + 1, sys::relaxed, sys::relaxed) ? element : nullptr;
    }

    /// Any thread: takes the oldest element, or null if there is none or another thread was faster. Costs a
    /// heavy fence: ask maybe_filled() first.
    [[nodiscard]] T* steal() noexcept {
        std::uint64_t top = top_.load(sys::acquire);
        // [CL2] heavy: the look at top_ before the look at bottom_; pairs with the light fence in pop().
        sys::fence_heavy();
        // [CL1] acquire; pairs with the release in push().
        const std::uint64_t bottom = bottom_.load(sys::acquire);
        if (size(top, bottom) <= 0) return nullptr;
        // The slot may be overwritten while it is read; then top_ has moved and the claim fails.
        T* const element = array_.current_for_reader()->at(top).load(sys::relaxed);
        // [CL4] release: the read of the slot before its reuse by push(); pairs with the acquire in
        // make_room(). [CL3]
        if (!top_.compare_exchange_strong(top, top + 1, sys::release, sys::relaxed) // thief's claim
            && !EKIDEN_MUTANT(deque_steal_ignores_others))
            return nullptr;
        return element;
    }

    /// Any thread: false if the deque was empty a moment ago. A hint: orders nothing.
    [[nodiscard]] bool maybe_filled() const noexcept {
        return size(top_.load(sys::relaxed), bottom_.load(sys::relaxed)) > 0;
    }

private:
    using slots = typename circular_array<T>::slots;

    [[nodiscard]] static std::int64_t size(std::uint64_t top, std::uint64_t bottom) noexcept {
        return static_cast<std::int64_t>(bottom - top); // right across a wrap-around; -1 while a pop claims
    }

    [[nodiscard, gnu::noinline]] slots* make_room(slots* here, std::uint64_t bottom) {
        // [CL4] acquire; pairs with the release in steal(): a slot counts as free only after its reader is
        // done.
        top_seen_ = top_.load(sys::acquire);
        if (bottom - top_seen_ < here->capacity() || EKIDEN_MUTANT(deque_never_grows)) return here;
        return array_.grow(top_seen_, bottom);
    }

    alignas(sys::isolation) sys::atomic<std::uint64_t> top_;    // written by thieves
    alignas(sys::isolation) sys::atomic<std::uint64_t> bottom_; // this and the rest: written by the owner
    std::uint64_t top_seen_;
    circular_array<T> array_;
};

} // namespace ekiden::inline EKIDEN_ABI
