/// A work-stealing deque. The owner thread pushes and pops elements at the bottom. Other threads steal
/// elements from the top.
///
/// Part: queue. Used by: pool. Each worker has one deque.
///
/// Algorithm: Chase and Lev, "Dynamic Circular Work-Stealing Deque" (SPAA 2005). The memory orders come from
/// Lê et al., "Correct and Efficient Work-Stealing for Weak Memory Models" (PPoPP 2013), with the following
/// differences.
///
/// The fence between the owner's claim and the owner's load of `top` is asymmetric. So in most pushes and
/// pops, the owner executes no fence instruction. The thief executes a heavy fence instead.
///
/// Stores have release order. There is no stand-alone release fence, because ThreadSanitizer does not
/// understand fences. The compare-exchange that claims an element is not seq_cst. Fences of the owner and of
/// the thief order the loads, and a read-modify-write of `top` decides which thread gets an element.
///
/// The owner has a copy of an earlier value of `top`. A push reads the current value of `top` only when the
/// array seems full.
///
/// After the owner has noticed a theft, or has taken the last element, it is in contended mode for some pops.
/// In contended mode, the owner uses full fences, and a thief needs no system call. Thieves can see the mode.
/// Without the second case, a thief could not steal from an owner that repeatedly pushes and pops a single
/// element, because the owner pops the element before the heavy fence of the thief ends. An owner that
/// expects a theft can enter contended mode before it meets a thief.
#pragma once

#include <ekiden/queue/circular_array.hpp>
#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A double-ended queue of pointers that grows when it is full. One thread at a time is the owner. Any thread
/// may steal. Each element is taken exactly once.
template <class T>
class chase_lev_deque {
public:
    /// Creates an empty deque. `capacity` is a power of two, and doubles when the deque is full. Contended
    /// mode lasts for `contended_pops` pops, which must not be 0. A large number saves heavy fences of the
    /// thieves, and costs full fences of the owner. `first_index` is the index of the first element. Indices
    /// wrap around, so tests choose a first index near the end of the range. Throws std::bad_alloc.
    explicit chase_lev_deque(std::size_t capacity = 256, std::uint64_t first_index = 0,
                             unsigned contended_pops = 64)
        : top_(first_index), bottom_(first_index), top_seen_(first_index), own_top_(first_index),
          contended_pops_(contended_pops), array_(capacity) {}

    /// Owner: adds the newest element. Throws std::bad_alloc if the deque cannot grow. A call that throws has
    /// no effect.
    void push(T* element) {
        const std::uint64_t bottom = bottom_.load(sys::relaxed);
        slots* here = array_.current();
        if (bottom - top_seen_ >= here->capacity()) [[unlikely]]
            here = make_room(here, bottom);
        here->at(bottom).store(element, sys::relaxed);
        // [CL1] Release: publishes the element and its slot. Pairs with the acquire of bottom_ in steal().
        bottom_.store(bottom + 1, sys::release);
    }

    /// Owner: takes the newest element. Returns null if the deque is empty.
    [[nodiscard]] T* pop() noexcept {
        std::uint64_t bottom = bottom_.load(sys::relaxed);
        if (size(top_.load(sys::relaxed), bottom) <= 0) return nullptr;
        --bottom;
        // [CL1] Release: publishes the elements like the store in push(), because a thief may acquire this
        // value of bottom_.
        bottom_.store(bottom, sys::release);
        // [CL2] Orders the claim above before the load of top_. Pairs with the fence in steal(). Either a
        // thief sees the claim, or the owner sees that the thief has advanced top_.
        if (full_fences_left_ == 0) [[likely]]
            sys::fence_light();
        else
            contended_fence();
        std::uint64_t top = top_.load(sys::relaxed);
        if (top != own_top_) [[unlikely]]
            enter_contended(top);
        if (size(top, bottom) > 0 || EKIDEN_MUTANT(deque_pop_forgets_the_last_item))
            return array_.current()->at(bottom).load(sys::relaxed);
        T* element = nullptr;
        if (top == bottom) { // the exchange of top_ decides which thread gets the last element
            element = array_.current()->at(bottom).load(sys::relaxed);
            // [CL3] All claims are read-modify-writes of top_, so exactly one claim takes the element. [CL4]
            // The exchange also continues the release sequences of the earlier claims.
            if (!top_.compare_exchange_strong(top, top + 1, sys::relaxed, sys::relaxed) // owner's claim
                && !EKIDEN_MUTANT(deque_pop_ignores_thieves))
                element = nullptr;
            else
                enter_contended(top + 1); // so that a thief can get the next last element
        }
        if (!EKIDEN_MUTANT(deque_pop_keeps_its_claim))
            bottom_.store(bottom + 1, sys::release); // [CL1] As in push().
        return element;
    }

    /// Owner: takes the oldest element. Returns null if the deque is empty, or if a thief takes the element
    /// first.
    [[nodiscard]] T* pop_oldest() noexcept {
        std::uint64_t top = top_.load(sys::relaxed); // if this value is old, the claim fails
        if (size(top, bottom_.load(sys::relaxed)) <= 0) return nullptr;
        T* const element = array_.current()->at(top).load(sys::relaxed);
        // The owner claims the element like a thief. Unlike a thief, the owner needs no fence, because only
        // the owner changes bottom_.
        if (!top_.compare_exchange_strong(top, top + 1, sys::relaxed, sys::relaxed)) return nullptr;
        ++own_top_;
        return element;
    }

    /// Owner: enters contended mode. The next pops cost a full fence each, and a theft meanwhile costs no
    /// heavy fence.
    void expect_thieves() noexcept { enter_contended(top_.load(sys::relaxed)); }

    /// Any thread: takes the oldest element. Returns null if the deque is empty, or if another thread takes
    /// the element first. If the owner is not in contended mode, the call executes a heavy fence. So callers
    /// check maybe_filled() first.
    [[nodiscard]] T* steal() noexcept {
        // [CL5] Acquire: sees the claims that the owner made with light fences before it entered contended
        // mode. Pairs with the releases in enter_contended() and contended_fence().
        const std::uint64_t mode = mode_.load(sys::acquire);
        std::uint64_t top = top_.load(sys::acquire);
        std::uint64_t bottom = 0;
        bool is_ordered = is_contended(mode);
        if (is_ordered) {
            // [CL2] Orders the load of top_ before the load of bottom_. [CL6] Orders the load of top_ before
            // the second load of mode_. The fence pairs in both cases with the fence in
            // contended_fence().
            sys::fence(sys::seq_cst);
            bottom = bottom_.load(sys::acquire); // [CL1] Acquire: pairs with the release in push().
            is_ordered = mode_.load(sys::relaxed) == mode || EKIDEN_MUTANT(deque_steal_trusts_mode);
        }
        if (!is_ordered) {
            // [CL2] Heavy fence: orders the load of top_ before the load of bottom_. Pairs with the light
            // fence and with the full fence of a pop().
            sys::fence_heavy();
            bottom = bottom_.load(sys::acquire); // [CL1] Acquire: pairs with the release in push().
        }
        if (size(top, bottom) <= 0) return nullptr;
        // The owner may overwrite the slot during this load. In this case, top_ has changed, and the claim
        // below fails.
        T* const element = array_.current_for_reader()->at(top).load(sys::relaxed);
        // [CL4] Release: orders the read of the slot before the claim. Pairs with the acquire in make_room().
        // [CL3]
        if (!top_.compare_exchange_strong(top, top + 1, sys::release, sys::relaxed) // thief's claim
            && !EKIDEN_MUTANT(deque_steal_ignores_others))
            return nullptr;
        return element;
    }

    /// Any thread: returns how many elements the deque had a moment ago. The result is a hint, and the call
    /// orders nothing.
    [[nodiscard]] std::size_t size() const noexcept {
        const std::int64_t now = size(top_.load(sys::relaxed), bottom_.load(sys::relaxed));
        return now > 0 ? static_cast<std::size_t>(now) : 0;
    }
    /// Any thread: returns the index of the oldest element a moment ago. The index grows by 1 when a thief
    /// takes an element, and when the owner takes the only element. The call orders nothing.
    [[nodiscard]] std::uint64_t oldest_index() const noexcept { return top_.load(sys::relaxed); }
    /// Any thread: returns size() != 0.
    [[nodiscard]] bool maybe_filled() const noexcept { return size() != 0; }

private:
    using slots = typename circular_array<T>::slots;

    [[nodiscard]] static std::int64_t size(std::uint64_t top, std::uint64_t bottom) noexcept {
        return static_cast<std::int64_t>(bottom - top); // the size can be -1 during a pop; indices may wrap
    }

    // Returns whether `mode`, a value of mode_, is odd. The value is odd while the owner uses full
    // fences. It never repeats.
    [[nodiscard]] static bool is_contended(std::uint64_t mode) noexcept { return (mode & 1) != 0; }

    /// Owner: executes the full fence of a pop in contended mode. If the owner leaves contended mode after
    /// this pop, first announces this to the thieves.
    void contended_fence() noexcept {
        if (--full_fences_left_ == 0) {
            // [CL5] Release: orders the owner's loads of top_ before this store. Pairs with the acquire in
            // steal().
            mode_.store(mode_.load(sys::relaxed) + 1, sys::release);
            if (EKIDEN_MUTANT(deque_contention_ends_unfenced)) return;
        }
        // [CL2] This full fence pairs with the full fence and with the heavy fence in steal(). [CL6] The full
        // fence orders the announcement above before all later claims with a light fence. Pairs with the full
        // fence in steal(). Either the owner sees the thief's value of top_ at these claims, or the thief
        // sees that the owner has left contended mode.
        if (!EKIDEN_MUTANT(deque_contended_pop_is_unfenced)) sys::fence(sys::seq_cst);
    }

    /// Owner: enters contended mode. `top` is the value of top_.
    EKIDEN_NOINLINE void enter_contended(std::uint64_t top) noexcept {
        own_top_ = top;
        // [CL5] Release: publishes the claims that the owner has made so far. Pairs with the acquire in
        // steal().
        if (full_fences_left_ == 0) mode_.store(mode_.load(sys::relaxed) + 1, sys::release);
        full_fences_left_ = contended_pops_;
    }

    [[nodiscard]] EKIDEN_NOINLINE slots* make_room(slots* here, std::uint64_t bottom) {
        // [CL4] Acquire: ensures that the thieves have finished reading the slots that are free now. Pairs
        // with the release in steal().
        top_seen_ = top_.load(sys::acquire);
        if (bottom - top_seen_ < here->capacity() || EKIDEN_MUTANT(deque_never_grows)) return here;
        return array_.grow(top_seen_, bottom);
    }

    alignas(sys::isolation) sys::atomic<std::uint64_t> top_; // Thieves write this member.
    // The owner writes this member and the following members.
    alignas(sys::isolation) sys::atomic<std::uint64_t> bottom_;
    sys::atomic<std::uint64_t> mode_{0};
    std::uint64_t top_seen_;
    std::uint64_t own_top_;         // the last value of top_ that the owner has seen
    unsigned full_fences_left_ = 0; // the number of pops that will still use a full fence
    const unsigned contended_pops_;
    circular_array<T> array_;
};

} // namespace ekiden::inline EKIDEN_ABI
