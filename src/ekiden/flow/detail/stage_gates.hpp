/// The gates of a pipeline: they decide which item may enter a serial stage, and when the source may
/// continue.
///
/// Part: flow. Used by: pipeline. flow.md describes the protocols. No gate blocks a thread. An item that must
/// wait is stored in the gate, and the thread that opens the gate continues with the item.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>
#include <ekiden/sys/mutant.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The part of an item that the gates use.
struct flow_item {
    /// The number of the item in the order of the source. The numbers have no gaps.
    std::uint64_t number = 0;
    /// The next item in the list of a gate. Only the owner of the list uses this pointer.
    sys::cell<flow_item*> next_item{nullptr};
};

/// The words of a gate: an address of an item, or one of two small numbers.
inline std::uintptr_t word_of(const flow_item* item) noexcept {
    return reinterpret_cast<std::uintptr_t>(item);
}
inline flow_item* item_of(std::uintptr_t word) noexcept { return reinterpret_cast<flow_item*>(word); }

/// The gate of a stage that handles the items one at a time, in the order of their numbers.
///
/// The gate has a cell for each item that may be in flight. An item and the permission for its number meet in
/// the cell of this number. The thread that comes second finds the other half, and continues with the item.
/// Thread safety: each item calls arrive() once, and then leave() once.
class ordered_gate {
public:
    static constexpr bool is_serial = true;

    /// Prepares the gate for `in_flight` items at once. The next number is `first`. Not thread-safe.
    void prepare(std::size_t in_flight, std::uint64_t first) {
        mask_ = std::bit_ceil(in_flight) - 1;
        cells_ = std::make_unique<sys::atomic<std::uintptr_t>[]>(mask_ + 1);
        cells_[first & mask_].store(granted, sys::relaxed);
    }

    /// Returns true if the item enters now. Otherwise stores the item, and the caller must not use it.
    [[nodiscard]] bool arrive(flow_item& item) noexcept {
        sys::atomic<std::uintptr_t>& cell = cells_[item.number & mask_];
        // [PL1] Release: publishes the item to the leave() that finds it. Acquire: sees what the stage did
        // before the leave() that granted this number.
        if (cell.exchange(word_of(&item), sys::acq_rel) != granted) return false;
        // Relaxed is enough: the next use of this cell is by an item that begins after this item has left.
        cell.store(empty, sys::relaxed);
        return true;
    }

    /// Called when an item leaves the stage. Returns the next item if it waits already, or null. The caller
    /// must let the returned item enter.
    [[nodiscard]] flow_item* leave(const flow_item& item) noexcept {
        sys::atomic<std::uintptr_t>& cell = cells_[(item.number + 1) & mask_];
        // [PL1] Release: publishes what the stage did. Acquire: sees the item. Pairs with arrive().
        const std::uintptr_t before = cell.exchange(granted, sys::acq_rel);
        if (before == empty || EKIDEN_MUTANT(ordered_gate_forgets_the_next)) return nullptr;
        cell.store(empty, sys::relaxed);
        return item_of(before);
    }

private:
    static constexpr std::uintptr_t empty = 0;
    static constexpr std::uintptr_t granted = 1;

    std::size_t mask_ = 0;
    std::unique_ptr<sys::atomic<std::uintptr_t>[]> cells_;
};

/// The gate of a stage that handles the items one at a time, in the order of their arrival.
///
/// Waiting items are in a stack (Treiber, 1986). The item that leaves takes the whole stack and reverses it.
/// Thread safety: as in ordered_gate.
class arrival_gate {
public:
    static constexpr bool is_serial = true;

    void prepare(std::size_t, std::uint64_t) noexcept {}

    [[nodiscard]] bool arrive(flow_item& item) noexcept {
        std::uintptr_t word = word_.load(sys::relaxed);
        for (;;) {
            if (word == open) {
                // [PL2] Acquire: sees what the stage did before the gate was opened.
                if (word_.compare_exchange_weak(word, taken, sys::acquire, sys::relaxed)) return true;
                continue;
            }
            item.next_item.write(word == taken ? nullptr : item_of(word));
            // [PL2] Release: publishes the item. Pairs with the acquire in leave().
            if (word_.compare_exchange_weak(word, word_of(&item), sys::release, sys::relaxed)) return false;
        }
    }

    [[nodiscard]] flow_item* leave(const flow_item&) noexcept {
        if (flow_item* const next = oldest_.read()) {
            oldest_.write(next->next_item.read());
            return next;
        }
        std::uintptr_t word = taken;
        // [PL2] Release: publishes what the stage did, and oldest_. Pairs with arrive().
        if (word_.compare_exchange_strong(word, open, sys::release, sys::relaxed)) return nullptr;
        // [PL2] Acquire: sees the items. Pairs with the releases in arrive().
        flow_item* newest = item_of(word_.exchange(taken, sys::acquire));
        flow_item* oldest = nullptr;
        while (newest != nullptr) {
            flow_item* const older = newest->next_item.read();
            newest->next_item.write(oldest);
            oldest = newest;
            newest = older;
        }
        oldest_.write(EKIDEN_MUTANT(arrival_gate_forgets_the_rest) ? nullptr : oldest->next_item.read());
        return oldest;
    }

private:
    static constexpr std::uintptr_t open = 0;  // no item is in the stage
    static constexpr std::uintptr_t taken = 1; // an item is in the stage, and no item is in the stack

    // Another value of word_: an item is in the stage, and word_ is the top of the stack.
    alignas(sys::isolation) sys::atomic<std::uintptr_t> word_{open};
    sys::cell<flow_item*> oldest_{nullptr}; // the item in the stage owns this list
};

/// The gate of a stage that handles several items at once.
class open_gate {
public:
    static constexpr bool is_serial = false;

    void prepare(std::size_t, std::uint64_t) noexcept {}
};

/// The items that are not in flight, and the place where the source waits for one.
///
/// Thread safety: one thread at a time owns the source, and calls reserve() and take(). Any thread may call
/// put().
class free_items {
public:
    /// Forgets all items. Not thread-safe.
    void clear() noexcept {
        word_.store(none, sys::relaxed);
        own_.write(nullptr);
    }
    /// Owner: adds an item.
    void add(flow_item& item) noexcept {
        item.next_item.write(own_.read());
        own_.write(&item);
    }

    /// Owner: returns true if take() has an item. Otherwise the source waits, and the caller is no longer the
    /// owner.
    [[nodiscard]] bool reserve() noexcept {
        if (own_.read() != nullptr) return true;
        if (EKIDEN_MUTANT(source_waits_in_any_case)) word_.store(none, sys::relaxed);
        std::uintptr_t word = none;
        // [PL3] Release: publishes the state of the source to the put() that continues it.
        if (word_.compare_exchange_strong(word, waiting, sys::release, sys::relaxed)) return false;
        // [PL3] Acquire: sees what the items did. Pairs with the release in put().
        own_.write(item_of(word_.exchange(none, sys::acquire)));
        return true;
    }

    /// Owner: returns an item. reserve() must have returned true.
    [[nodiscard]] flow_item& take() noexcept {
        flow_item* const item = own_.read();
        own_.write(item->next_item.read());
        return *item;
    }

    /// Gives an item back. Returns true if the source has waited. The caller is then the owner of the source,
    /// and reserve() returns true.
    [[nodiscard]] bool put(flow_item& item) noexcept {
        std::uintptr_t word = word_.load(sys::relaxed);
        for (;;) {
            if (word == waiting) {
                // [PL3] Acquire: sees the state of the source. Pairs with the release in reserve(). The item
                // goes to the owner directly.
                if (!word_.compare_exchange_weak(word, none, sys::acquire, sys::relaxed)) continue;
                add(item);
                return true;
            }
            item.next_item.write(item_of(word));
            // [PL3] Release: publishes what the item did. Pairs with the acquire in reserve().
            if (word_.compare_exchange_weak(word, word_of(&item), sys::release, sys::relaxed)) return false;
        }
    }

private:
    static constexpr std::uintptr_t none = 0;    // the stack is empty, and the source does not wait
    static constexpr std::uintptr_t waiting = 1; // the stack is empty, and the source waits

    // Another value of word_: the top of the stack of items that have come back.
    alignas(sys::isolation) sys::atomic<std::uintptr_t> word_{none};
    sys::cell<flow_item*> own_{nullptr}; // the owner's list
};

} // namespace ekiden::inline EKIDEN_ABI::detail
