/// The work-stealing deque: one owner pushes and pops at the bottom, thieves steal from the top.
///
/// Part: queue. Used by: pool (one per worker).
///
/// D. Chase, Y. Lev, "Dynamic Circular Work-Stealing Deque" (SPAA 2005), with the orderings of N. M. Lê et
/// al., "Correct and Efficient Work-Stealing for Weak Memory Models" (PPoPP 2013). The differences:
///
/// * The fence between the owner's claim and its load of `top` is asymmetric. So push and pop cost the owner
/// no
///   fence on systems that provide the heavy fence for the thief.
/// * Stores have release order in place of stand-alone fences, because ThreadSanitizer does not understand
/// fences.
/// * Claims are not seq_cst. The fences on both sides order the loads, and a read-modify-write of `top`
/// decides.
/// * The owner keeps a copy of the last `top` that it saw, and reads `top` only when the array seems full.
/// * An owner that has met thieves is "in company": it uses full fences for some pops, and thieves can see
/// this.
///   Meanwhile a thief needs no system call.
#pragma once

#include <ekiden/queue/circular_array.hpp>
#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A double-ended queue of pointers that grows. One thread at a time is the owner. Any thread may steal. Each
/// element is taken exactly once. `CompanyPops` is the number of pops after a theft that use a full fence.
template <class T, unsigned CompanyPops = 64>
class chase_lev_deque {
public:
    /// `capacity` is a power of two, and doubles when the deque is full. `first_index` is the first index.
    /// Indices wrap around, and tests start them near the end. Throws std::bad_alloc.
    explicit chase_lev_deque(std::size_t capacity = 256, std::uint64_t first_index = 0)
        : top_(first_index), bottom_(first_index), top_seen_(first_index), own_top_(first_index),
          array_(capacity) {}

    /// Owner: adds the newest element. Throws std::bad_alloc if the deque cannot grow, and then has no
    /// effect.
    void push(T* element) {
        const std::uint64_t bottom = bottom_.load(sys::relaxed);
        slots* here = array_.current();
        if (bottom - top_seen_ >= here->capacity()) [[unlikely]]
            here = make_room(here, bottom);
        here->at(bottom).store(element, sys::relaxed);
        // [CL1] Release: publishes the element and its slot. Pairs with the acquire of bottom_ in steal().
        bottom_.store(bottom + 1, sys::release);
    }

    /// Owner: takes the newest element. Returns null if there is none.
    [[nodiscard]] T* pop() noexcept {
        std::uint64_t bottom = bottom_.load(sys::relaxed);
        if (size(top_.load(sys::relaxed), bottom) <= 0) return nullptr;
        --bottom;
        // [CL1] Release: as in push(), because a thief may read this value.
        bottom_.store(bottom, sys::release);
        // [CL2] Orders the claim above before the load of top_. Pairs with the fence in steal(): either a
        // thief sees the claim, or the owner sees the thief's advance of top_.
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
        if (top
            == bottom) { // the last element: the exchange of top_ decides between the owner and the thieves
            element = array_.current()->at(bottom).load(sys::relaxed);
            // [CL3] All claims are read-modify-writes of one object, so exactly one takes the element. This
            // one also continues the release sequences of the earlier claims, [CL4].
            if (!top_.compare_exchange_strong(top, top + 1, sys::relaxed, sys::relaxed) // owner's claim
                && !EKIDEN_MUTANT(deque_pop_ignores_thieves))
                element = nullptr;
            else
                ++own_top_;
        }
        if (!EKIDEN_MUTANT(deque_pop_keeps_its_claim))
            bottom_.store(bottom + 1, sys::release); // [CL1] As above.
        return element;
    }

    /// Owner: takes the oldest element. Returns null if there is none, or if a thief was faster.
    [[nodiscard]] T* pop_oldest() noexcept {
        std::uint64_t top = top_.load(sys::relaxed); // if this value is old, the claim fails
        if (size(top, bottom_.load(sys::relaxed)) <= 0) return nullptr;
        T* const element = array_.current()->at(top).load(sys::relaxed);
        // Like a thief's claim. It needs no fence, because the owner knows its own bottom_.
        if (!top_.compare_exchange_strong(top, top + 1, sys::relaxed, sys::relaxed)) return nullptr;
        ++own_top_;
        return element;
    }

    /// Any thread: takes the oldest element. Returns null if there is none, or if another thread was faster.
    /// Costs a heavy fence if the owner is not in company, so callers check maybe_filled() first.
    [[nodiscard]] T* steal() noexcept {
        // [CL5] Acquire: the claims that the owner made with a light fence before it was in company. Pairs
        // with the releases in meet_thieves() and fence_in_company().
        const std::uint64_t company = company_.load(sys::acquire);
        std::uint64_t top = top_.load(sys::acquire);
        std::uint64_t bottom = 0;
        bool is_ordered = is_in_company(company);
        if (is_ordered) {
            // [CL2] Orders the loads of top_ and bottom_, as below. [CL6] Orders the load of top_ before the
            // second load of company_. Both pair with the fence in fence_in_company().
            sys::fence(sys::seq_cst);
            bottom = bottom_.load(sys::acquire); // [CL1] As below.
            is_ordered = company_.load(sys::relaxed) == company || EKIDEN_MUTANT(deque_steal_trusts_company);
        }
        if (!is_ordered) {
            // [CL2] Heavy: orders the load of top_ before the load of bottom_. Pairs with either fence in
            // pop().
            sys::fence_heavy();
            bottom = bottom_.load(sys::acquire); // [CL1] Acquire: pairs with the release in push().
        }
        if (size(top, bottom) <= 0) return nullptr;
        // The owner may overwrite the slot meanwhile. Then top_ has changed, and the claim fails.
        T* const element = array_.current_for_reader()->at(top).load(sys::relaxed);
        // [CL4] Release: the read of the slot. Pairs with the acquire in make_room(). [CL3]
        if (!top_.compare_exchange_strong(top, top + 1, sys::release, sys::relaxed) // thief's claim
            && !EKIDEN_MUTANT(deque_steal_ignores_others))
            return nullptr;
        return element;
    }

    /// Any thread: returns false if the deque was empty a moment ago. A hint: orders nothing.
    [[nodiscard]] bool maybe_filled() const noexcept {
        return size(top_.load(sys::relaxed), bottom_.load(sys::relaxed)) > 0;
    }

private:
    using slots = typename circular_array<T>::slots;

    [[nodiscard]] static std::int64_t size(std::uint64_t top, std::uint64_t bottom) noexcept {
        return static_cast<std::int64_t>(bottom - top); // correct when indices wrap; -1 during a pop
    }

    // company_: odd while the owner uses full fences. It never repeats a value.
    [[nodiscard]] static bool is_in_company(std::uint64_t company) noexcept { return (company & 1) != 0; }

    /// Owner: the fence of a pop in company. Announces the end of the company if the next fence is light.
    void fence_in_company() noexcept {
        if (--company_left_ == 0) {
            // [CL5] Release: the owner's loads of top_. Pairs with the acquire in steal().
            company_.store(company_.load(sys::relaxed) + 1, sys::release);
            if (EKIDEN_MUTANT(deque_company_ends_unfenced)) return;
        }
        // [CL2] Full: pairs with either fence in steal(). [CL6] Orders the end of the company before all
        // claims with a light fence. Pairs with the full fence in steal(): either those claims see the
        // thief's top_, or the thief sees that the company has ended.
        if (!EKIDEN_MUTANT(deque_company_is_unfenced)) sys::fence(sys::seq_cst);
    }

    /// Owner: thieves have advanced top_ to `top`.
    [[gnu::noinline]] void meet_thieves(std::uint64_t top) noexcept {
        own_top_ = top;
        // [CL5] Release: the claims until now. Pairs with the acquire in steal().
        if (company_left_ == 0) company_.store(company_.load(sys::relaxed) + 1, sys::release);
        company_left_ = CompanyPops;
    }

    [[nodiscard, gnu::noinline]] slots* make_room(slots* here, std::uint64_t bottom) {
        // [CL4] Acquire: the readers of the free slots have finished. Pairs with the release in steal().
        top_seen_ = top_.load(sys::acquire);
        if (bottom - top_seen_ < here->capacity() || EKIDEN_MUTANT(deque_never_grows)) return here;
        return array_.grow(top_seen_, bottom);
    }

    alignas(sys::isolation) sys::atomic<std::uint64_t> top_; // written by thieves
    // The owner writes this member and the following ones.
    alignas(sys::isolation) sys::atomic<std::uint64_t> bottom_;
    sys::atomic<std::uint64_t> company_{0};
    std::uint64_t top_seen_;
    std::uint64_t own_top_;     // top_ as the owner last saw it
    unsigned company_left_ = 0; // pops until the company ends
    circular_array<T> array_;
};

} // namespace ekiden::inline EKIDEN_ABI
