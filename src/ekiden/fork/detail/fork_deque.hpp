/// The published children of one fork participant. The participant's thread pushes and pops at one end.
/// Thieves steal the oldest child at the other end.
///
/// Part: fork. Used by: fork_participant. Private. fork_join.md describes the protocol.
///
/// The algorithm is a bounded Chase-Lev deque (SPAA 2005) with the orderings of Lê and others (PPoPP 2013).
/// The class fork_deque differs from chase_lev_deque in two points. First, the indices are visible, so that a
/// thief can refuse children that were pushed before a certain moment. Second, push() fails if the ring is
/// full. The owner and the thieves use full fences, because a thread seldom publishes a child.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

class fork_child;

class fork_deque {
public:
    static constexpr std::uint64_t capacity = 32;

    /// The indices start at `first_index` and may wrap around.
    explicit fork_deque(std::uint64_t first_index = 0) noexcept : top_(first_index), bottom_(first_index) {}

    /// Owner: adds a child at the bottom. Returns false if the ring is full.
    [[nodiscard]] bool push(fork_child* child) noexcept {
        const std::uint64_t bottom = bottom_.load(sys::relaxed);
        // [FD4] Acquire: the owner reuses the slot only after the thief has read the slot. Pairs with the
        // release in steal_if().
        if (bottom - top_.load(sys::acquire) >= capacity && !EKIDEN_MUTANT(fork_deque_never_full))
            return false;
        at(bottom).store(child, sys::relaxed);
        // [FD1] Release: publishes the child and its slot. Pairs with the acquire of bottom_ in steal_if().
        bottom_.store(bottom + 1, sys::release);
        return true;
    }

    /// Owner: removes and returns the newest child. Returns null if thieves have stolen all children.
    [[nodiscard]] fork_child* pop() noexcept {
        const std::uint64_t bottom = bottom_.load(sys::relaxed) - 1;
        bottom_.store(bottom, sys::release); // [FD1] Release: publishes the slots.
        // [FD2] Orders the store to bottom_ before the load of top_. Pairs with the fence in steal_if().
        sys::fence(sys::seq_cst);
        std::uint64_t top = top_.load(sys::relaxed);
        fork_child* child = nullptr;
        if (count(top, bottom) > 0) return at(bottom).load(sys::relaxed);
        if (top == bottom) { // the thread that advances top_ gets the last child
            child = at(bottom).load(sys::relaxed);
            // [FD3] The owner and the thieves claim the last child with a read-modify-write of top_, so only
            // one claim succeeds.
            if (!top_.compare_exchange_strong(top, top + 1, sys::relaxed, sys::relaxed) // owner's claim
                && !EKIDEN_MUTANT(fork_deque_pop_ignores_thieves))
                child = nullptr;
        }
        if (!EKIDEN_MUTANT(fork_deque_pop_keeps_its_claim))
            bottom_.store(bottom + 1, sys::release); // [FD1] Release, like above.
        return child;
    }

    /// Owner: returns the index of the next child to be pushed. All children in the ring have lower indices
    /// than the returned index.
    [[nodiscard]] std::uint64_t next_index() const noexcept { return bottom_.load(sys::relaxed); }

    /// Any thread: removes and returns the oldest child. Returns null if there is no child, or if another
    /// thread claimed the child first.
    [[nodiscard]] fork_child* steal() noexcept {
        return steal_if([](std::uint64_t) { return true; });
    }

    /// Steals the oldest child like steal(), but only if `allowed(index)` returns true for the index of the
    /// child. steal_if() calls `allowed` after it has seen the published child, and before it claims the
    /// child.
    template <class Allowed>
    [[nodiscard]] fork_child* steal_if(Allowed&& allowed) noexcept {
        std::uint64_t top = top_.load(sys::acquire);
        sys::fence(sys::seq_cst);                                        // [FD2]
        if (count(top, bottom_.load(sys::acquire)) <= 0) return nullptr; // [FD1]
        // If the owner has overwritten the slot meanwhile, top_ has changed, and the claim below fails.
        fork_child* const child = at(top).load(sys::relaxed);
        if (!allowed(top) && !EKIDEN_MUTANT(fork_deque_steals_what_is_not_allowed)) return nullptr;
        // [FD3] Claims the child. [FD4] Release: orders the read of the slot before the claim. Pairs with the
        // acquire in push().
        if (!top_.compare_exchange_strong(top, top + 1, sys::release, sys::relaxed) // thief's claim
            && !EKIDEN_MUTANT(fork_deque_steal_ignores_others))
            return nullptr;
        return child;
    }

    /// Any thread: returns the number of children. The number is a hint, because it may already have changed.
    [[nodiscard]] std::uint64_t size() const noexcept {
        const std::int64_t now = count(top_.load(sys::relaxed), bottom_.load(sys::relaxed));
        return now > 0 ? static_cast<std::uint64_t>(now) : 0;
    }

    /// Any thread: returns whether the deque has children and the index of the oldest child is at least
    /// `least`. The answer is a hint.
    [[nodiscard]] bool has_from(std::uint64_t least) const noexcept {
        const std::uint64_t top = top_.load(sys::relaxed);
        return is_from(top, least) && count(top, bottom_.load(sys::relaxed)) > 0;
    }

    /// Returns whether `index` is at least `least`. The answer is correct even if the indices have wrapped
    /// around.
    [[nodiscard]] static bool is_from(std::uint64_t index, std::uint64_t least) noexcept {
        return count(least, index) >= 0;
    }

private:
    [[nodiscard]] static std::int64_t count(std::uint64_t top, std::uint64_t bottom) noexcept {
        return static_cast<std::int64_t>(bottom - top); // the count is -1 while pop() checks an empty deque
    }
    [[nodiscard]] sys::atomic<fork_child*>& at(std::uint64_t index) noexcept {
        return slots_[index % capacity];
    }

    alignas(sys::isolation) sys::atomic<std::uint64_t> top_;    // written by thieves
    alignas(sys::isolation) sys::atomic<std::uint64_t> bottom_; // the owner writes bottom_ and the slots
    std::array<sys::atomic<fork_child*>, capacity> slots_{};
};

} // namespace ekiden::inline EKIDEN_ABI
