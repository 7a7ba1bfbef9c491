/// The published children of one fork party: its thread adds and takes back at one end, thieves take the
/// oldest at the other.
///
/// Part: fork. Used by: fork_party. Private. The protocol around it: fork_join.md.
///
/// A bounded Chase-Lev deque (SPAA 2005; orderings after N. M. Lê et al., PPoPP 2013). What chase_lev_deque
/// does not offer: the indices are visible, so that a thief can restrict itself to what was added after a
/// certain moment, and a full ring is no error. Both sides use full fences: publishing is rare. Claims are
/// not seq_cst, as there.
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

    /// `first_index` is where the indices start: they may wrap around, and tests start them just before.
    explicit fork_deque(std::uint64_t first_index = 0) noexcept : top_(first_index), bottom_(first_index) {}

    /// Owner: adds at the bottom. False if the ring is full.
    [[nodiscard]] bool push(fork_child* child) noexcept {
        const std::uint64_t bottom = bottom_.load(sys::relaxed);
        // [FD4] acquire; pairs with the release in steal(): the slot's reader is done.
        if (bottom - top_.load(sys::acquire) >= capacity && !EKIDEN_MUTANT(fork_deque_never_full))
            return false;
        at(bottom).store(child, sys::relaxed);
        // [FD1] release: the child and its slot; pairs with the acquire of bottom_ in steal().
        bottom_.store(bottom + 1, sys::release);
        return true;
    }

    /// Owner: takes the newest one back, or returns null if thieves have taken all.
    [[nodiscard]] fork_child* pop() noexcept {
        const std::uint64_t bottom = bottom_.load(sys::relaxed) - 1;
        bottom_.store(bottom, sys::release); // [FD1] a thief may read bottom_ from here
        // [FD2] the claim above before the look at top_; pairs with the fence in steal().
        sys::fence(sys::seq_cst);
        std::uint64_t top = top_.load(sys::relaxed);
        fork_child* child = nullptr;
        if (count(top, bottom) > 0) return at(bottom).load(sys::relaxed);
        if (top == bottom) { // the last one: the advance of top_ decides
            child = at(bottom).load(sys::relaxed);
            // [FD3] Claims are read-modify-writes of one object: one of them takes the child.
            if (!top_.compare_exchange_strong(top, top + 1, sys::relaxed, sys::relaxed) // owner's claim
                && !EKIDEN_MUTANT(fork_deque_pop_ignores_thieves))
                child = nullptr;
        }
        if (!EKIDEN_MUTANT(fork_deque_pop_keeps_its_claim))
            bottom_.store(bottom + 1, sys::release); // [FD1] as above
        return child;
    }

    /// Owner: the index of the next one to be added. That of all in the ring is lower.
    [[nodiscard]] std::uint64_t next_index() const noexcept { return bottom_.load(sys::relaxed); }

    /// Any thread: takes the oldest one, or returns null if there is none or another thread was faster.
    [[nodiscard]] fork_child* steal() noexcept {
        return steal_if([](std::uint64_t) { return true; });
    }

    /// As steal(), if `allowed(index)` for the index of the oldest one. What it reads, it reads after the
    /// child was published, and before the claim.
    template <class Allowed>
    [[nodiscard]] fork_child* steal_if(Allowed&& allowed) noexcept {
        std::uint64_t top = top_.load(sys::acquire);
        sys::fence(sys::seq_cst);                                        // [FD2]
        if (count(top, bottom_.load(sys::acquire)) <= 0) return nullptr; // [FD1]
        // May be overwritten while it is read; then top_ has moved, and the claim fails.
        fork_child* const child = at(top).load(sys::relaxed);
        if (!allowed(top) && !EKIDEN_MUTANT(fork_deque_steals_what_is_not_allowed)) return nullptr;
        // [FD3]; [FD4] release: the slot's reading before its reuse by push().
        if (!top_.compare_exchange_strong(top, top + 1, sys::release, sys::relaxed) // thief's claim
            && !EKIDEN_MUTANT(fork_deque_steal_ignores_others))
            return nullptr;
        return child;
    }

    /// Any thread: how many there were a moment ago. A hint: orders nothing.
    [[nodiscard]] std::uint64_t size() const noexcept {
        const std::int64_t now = count(top_.load(sys::relaxed), bottom_.load(sys::relaxed));
        return now > 0 ? static_cast<std::uint64_t>(now) : 0;
    }

    /// Any thread: whether there was one a moment ago, and the oldest one has this index or a later one.
    [[nodiscard]] bool has_from(std::uint64_t least) const noexcept {
        const std::uint64_t top = top_.load(sys::relaxed);
        return is_from(top, least) && count(top, bottom_.load(sys::relaxed)) > 0;
    }

    /// Whether `index` is `least` or follows it, also across a wrap-around.
    [[nodiscard]] static bool is_from(std::uint64_t index, std::uint64_t least) noexcept {
        return count(least, index) >= 0;
    }

private:
    [[nodiscard]] static std::int64_t count(std::uint64_t top, std::uint64_t bottom) noexcept {
        return static_cast<std::int64_t>(bottom - top); // right across a wrap-around; -1 while a pop claims
    }
    [[nodiscard]] sys::atomic<fork_child*>& at(std::uint64_t index) noexcept {
        return slots_[index % capacity];
    }

    alignas(sys::isolation) sys::atomic<std::uint64_t> top_;    // written by thieves
    alignas(sys::isolation) sys::atomic<std::uint64_t> bottom_; // this and the slots: written by the owner
    std::array<sys::atomic<fork_child*>, capacity> slots_{};
};

} // namespace ekiden::inline EKIDEN_ABI
