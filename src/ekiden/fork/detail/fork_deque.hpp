/// The published children of one fork participant. Its thread pushes and pops at one end. Thieves steal the
/// oldest child at the other end.
///
/// Part: fork. Used by: fork_participant. Private. The protocol around it: fork_join.md.
///
/// A bounded Chase-Lev deque (SPAA 2005; orderings modeled on N. M. Lê et al., PPoPP 2013). It differs from
/// chase_lev_deque in two points. Its indices are visible, so that a thief can steal only children that were
/// pushed after a certain moment. And push() fails if the ring is full. Both sides use full fences, because a
/// thread seldom publishes.
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
        // [FD4] Acquire: the slot's reader is done. Pairs with the release in steal_if().
        if (bottom - top_.load(sys::acquire) >= capacity && !EKIDEN_MUTANT(fork_deque_never_full))
            return false;
        at(bottom).store(child, sys::relaxed);
        // [FD1] Release: publishes the child and its slot. Pairs with the acquire of bottom_ in steal_if().
        bottom_.store(bottom + 1, sys::release);
        return true;
    }

    /// Owner: removes the newest child. Returns null if thieves have stolen all.
    [[nodiscard]] fork_child* pop() noexcept {
        const std::uint64_t bottom = bottom_.load(sys::relaxed) - 1;
        bottom_.store(bottom, sys::release); // [FD1] Release: a thief may read this value of bottom_.
        // [FD2] Claims the child, then reads top_. Pairs with the fence in steal_if().
        sys::fence(sys::seq_cst);
        std::uint64_t top = top_.load(sys::relaxed);
        fork_child* child = nullptr;
        if (count(top, bottom) > 0) return at(bottom).load(sys::relaxed);
        if (top == bottom) { // the last child: the advance of top_ decides
            child = at(bottom).load(sys::relaxed);
            // [FD3] The claims of the owner and of thieves are read-modify-writes of top_: one of them wins.
            if (!top_.compare_exchange_strong(top, top + 1, sys::relaxed, sys::relaxed) // owner's claim
                && !EKIDEN_MUTANT(fork_deque_pop_ignores_thieves))
                child = nullptr;
        }
        if (!EKIDEN_MUTANT(fork_deque_pop_keeps_its_claim))
            bottom_.store(bottom + 1, sys::release); // [FD1] Like above.
        return child;
    }

    /// Owner: returns the index of the next child to be pushed. All children in the ring have lower ones.
    [[nodiscard]] std::uint64_t next_index() const noexcept { return bottom_.load(sys::relaxed); }

    /// Any thread: removes the oldest child. Returns null if there is none, or another thread was faster.
    [[nodiscard]] fork_child* steal() noexcept {
        return steal_if([](std::uint64_t) { return true; });
    }

    /// Like steal(), if `allowed(index)` returns true for the index of the oldest child. The call happens
    /// after the child was published, and before it is claimed.
    template <class Allowed>
    [[nodiscard]] fork_child* steal_if(Allowed&& allowed) noexcept {
        std::uint64_t top = top_.load(sys::acquire);
        sys::fence(sys::seq_cst);                                        // [FD2]
        if (count(top, bottom_.load(sys::acquire)) <= 0) return nullptr; // [FD1]
        // If the owner overwrites the slot meanwhile, then top_ has moved, and the claim fails.
        fork_child* const child = at(top).load(sys::relaxed);
        if (!allowed(top) && !EKIDEN_MUTANT(fork_deque_steals_what_is_not_allowed)) return nullptr;
        // [FD3] The claim. [FD4] Release: the read of the slot. Pairs with the acquire in push().
        if (!top_.compare_exchange_strong(top, top + 1, sys::release, sys::relaxed) // thief's claim
            && !EKIDEN_MUTANT(fork_deque_steal_ignores_others))
            return nullptr;
        return child;
    }

    /// Any thread: returns how many children there were a moment ago. A hint.
    [[nodiscard]] std::uint64_t size() const noexcept {
        const std::int64_t now = count(top_.load(sys::relaxed), bottom_.load(sys::relaxed));
        return now > 0 ? static_cast<std::uint64_t>(now) : 0;
    }

    /// Any thread: returns whether there was a child a moment ago, the oldest of which had at least the index
    /// `least`.
    [[nodiscard]] bool has_from(std::uint64_t least) const noexcept {
        const std::uint64_t top = top_.load(sys::relaxed);
        return is_from(top, least) && count(top, bottom_.load(sys::relaxed)) > 0;
    }

    /// Returns whether `index` is `least` or follows it, also across a wrap-around.
    [[nodiscard]] static bool is_from(std::uint64_t index, std::uint64_t least) noexcept {
        return count(least, index) >= 0;
    }

private:
    [[nodiscard]] static std::int64_t count(std::uint64_t top, std::uint64_t bottom) noexcept {
        return static_cast<std::int64_t>(bottom - top); // also across a wrap-around; -1 while a pop claims
    }
    [[nodiscard]] sys::atomic<fork_child*>& at(std::uint64_t index) noexcept {
        return slots_[index % capacity];
    }

    alignas(sys::isolation) sys::atomic<std::uint64_t> top_;    // written by thieves
    alignas(sys::isolation) sys::atomic<std::uint64_t> bottom_; // this and the slots: written by the owner
    std::array<sys::atomic<fork_child*>, capacity> slots_{};
};

} // namespace ekiden::inline EKIDEN_ABI
