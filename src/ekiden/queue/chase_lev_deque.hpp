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
/// and reads the real one only when the ring seems full. New: an owner that has met thieves makes its fence a
/// full one, and says so, until it has been alone for a while. Meanwhile a thief pays no system call.
#pragma once

#include <ekiden/queue/circular_array.hpp>
#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A double-ended queue of pointers that grows. One thread at a time is the owner; any thread may steal.
/// Elements come out exactly once. `CompanyPops`: how many pops after a theft have a full fence; as many cost
/// less than a heavy one.
template <class T, unsigned CompanyPops = 64>
class chase_lev_deque {
public:
    /// `capacity` is a power of two; the ring doubles when it is full. `first_index` is where the indices
    /// start: they may wrap around, and tests start them just before. Throws std::bad_alloc.
    explicit chase_lev_deque(std::size_t capacity = 256, std::uint64_t first_index = 0)
        : top_(first_index), bottom_(first_index), top_seen_(first_index), own_top_(first_index),
          array_(capacity) {}

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
        // [CL2] The claim above before the look at top_; pairs with the fence in steal(). Either a thief sees
        // the claim, or this sees the thief's advance of top_.
        if (company_left_ == 0) [[likely]]
            sys::fence_light();
        else
            fence_in_company();
        std::uint64_t top = top_.load(sys::relaxed);
        if (top != own_top_) [[unlikely]]
            meet_thieves(top);
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
            else
                ++own_top_;
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
        if (!top_.compare_exchange_strong(top, top + 1, sys::relaxed, sys::relaxed)) return nullptr;
        ++own_top_;
        return element;
    }

    /// Any thread: takes the oldest element, or null if there is none or another thread was faster. Costs a
    /// heavy fence if the owner is used to be alone: ask maybe_filled() first.
    [[nodiscard]] T* steal() noexcept {
        // [CL5] acquire: in company, the owner's claims with a light fence before; pairs with the releases in
        // meet_thieves() and fence_in_company().
        const std::uint64_t company = company_.load(sys::acquire);
        std::uint64_t top = top_.load(sys::acquire);
        std::uint64_t bottom = 0;
        bool is_ordered = is_in_company(company);
        if (is_ordered) {
            // [CL2] The looks at top_ and bottom_, as below. [CL6] The look at top_ before the second one at
            // company_. Both full; they pair with the fence in fence_in_company().
            sys::fence(sys::seq_cst);
            bottom = bottom_.load(sys::acquire); // [CL1] as below
            is_ordered = company_.load(sys::relaxed) == company || EKIDEN_MUTANT(deque_steal_trusts_company);
        }
        if (!is_ordered) {
            // [CL2] heavy: the look at top_ before the look at bottom_; pairs with either fence in pop().
            sys::fence_heavy();
            bottom = bottom_.load(sys::acquire); // [CL1] acquire; pairs with the release in push().
        }
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

    // company_: odd while the owner's fence is a full one. It never comes back to a value.
    [[nodiscard]] static bool is_in_company(std::uint64_t company) noexcept { return (company & 1) != 0; }

    /// The owner's fence in company; says so if the next one is light again.
    void fence_in_company() noexcept {
        if (--company_left_ == 0) {
            // [CL5] release: the owner's looks at top_; pairs with the acquire in steal().
            company_.store(company_.load(sys::relaxed) + 1, sys::release);
            if (EKIDEN_MUTANT(deque_company_ends_unfenced)) return;
        }
        // [CL2] full; pairs with either fence in steal(). [CL6] The end of the company before all claims with
        // a light fence; pairs with the full fence in steal(). Either those claims see the thief's top_, or
        // the thief sees that the company has ended.
        if (!EKIDEN_MUTANT(deque_company_is_unfenced)) sys::fence(sys::seq_cst);
    }

    /// Thieves have advanced top_ to here.
    [[gnu::noinline]] void meet_thieves(std::uint64_t top) noexcept {
        own_top_ = top;
        // [CL5] release: the claims until now; pairs with the acquire in steal().
        if (company_left_ == 0) company_.store(company_.load(sys::relaxed) + 1, sys::release);
        company_left_ = CompanyPops;
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
    sys::atomic<std::uint64_t> company_{0};
    std::uint64_t top_seen_;
    std::uint64_t own_top_;     // top_ without what thieves have taken since the owner looked
    unsigned company_left_ = 0; // pops until company_ becomes even
    circular_array<T> array_;
};

} // namespace ekiden::inline EKIDEN_ABI
