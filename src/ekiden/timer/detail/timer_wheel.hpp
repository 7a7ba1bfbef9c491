/// A hierarchical timing wheel, which finds the earliest of many deadlines.
///
/// Part: timer. Used by: timer_queue. Private.
///
/// The algorithm is scheme 7 of "Hashed and Hierarchical Timing Wheels" (Varghese, Lauck, 1987). Each level
/// has 64 slots. Each slot spans as much time as the whole level below. A slot of the lowest level spans one
/// unit of time. So the nodes of a slot need not be sorted, and no node is due early. A deadline is a number
/// with digits to base 64, and each level stands for one digit. A node lies on the level of the highest digit
/// in which its deadline differs from the current time. So all nodes of a level are due before all nodes of
/// higher levels. One bit mask per level finds the next slot.
///
/// The wheel differs from scheme 7 in two points. First, next() returns the exact deadline while few nodes
/// share the next slot. So a thread that sleeps until the next deadline usually wakes up only once, and not
/// once per level. Second, the nodes of a crowded slot move to lower levels in several steps.
#pragma once

#include <ekiden/sys/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A queue of nodes in the order of their deadlines. Nodes with the same deadline are in the order of their
/// schedule() calls. A time may have any unit, and any value of 64 bits. Every call takes constant time. Not
/// thread-safe. The wheel does not own the nodes. A wheel must be empty when it is destroyed.
class timer_wheel {
    struct link {
        link* next = nullptr;
        link* prev = nullptr;
    };

public:
    /// A value that means "no deadline". This value is later than every deadline.
    static constexpr std::uint64_t never = UINT64_MAX;

    /// An object with a deadline. A node can be in only one wheel at a time.
    class node : link {
    public:
        node() noexcept = default;
        node(const node&) = delete;
        node& operator=(const node&) = delete;

        /// Returns the deadline that the last call of schedule() has set.
        [[nodiscard]] std::uint64_t deadline() const noexcept { return deadline_; }
        [[nodiscard]] bool is_scheduled() const noexcept { return next != nullptr; }

    protected:
        ~node() = default;

    private:
        friend class timer_wheel;
        std::uint64_t deadline_ = 0;
    };

    /// Constructs a wheel at the time `now`.
    explicit timer_wheel(std::uint64_t now) noexcept;
    timer_wheel(const timer_wheel&) = delete;
    timer_wheel& operator=(const timer_wheel&) = delete;

    /// Returns the time up to which pop() has searched. Only restart() moves this time backwards.
    [[nodiscard]] std::uint64_t now() const noexcept { return now_; }

    /// Adds `fresh`, which must not be in a wheel. If the deadline is at most now(), the node is due at once.
    /// Nodes that are due at once keep the order of their schedule() calls, because sorting by deadline would
    /// not take constant time.
    void schedule(node& fresh, std::uint64_t deadline) noexcept;

    /// Removes `scheduled` from this wheel. The node must be in this wheel.
    void cancel(node& scheduled) noexcept;

    /// Removes and returns the next node whose deadline is at most `until`. `until` must not be before now().
    /// If there is no such node, returns null and sets now() to `until`. If the search would take too long,
    /// pop() returns null early, and is_busy() returns true afterwards.
    [[nodiscard]] node* pop(std::uint64_t until) noexcept;

    /// Returns true if pop() has ended its search early and must be called again.
    [[nodiscard]] bool is_busy() const noexcept { return moving_.next != &moving_; }

    /// Returns the time at which pop() must be called next. This is the first deadline, or an earlier time if
    /// more than 16 nodes share the first slot. Returns `never` if no node is scheduled.
    [[nodiscard]] std::uint64_t next() noexcept;

    /// Sets the current time to `now` after the clock was set back. All deadlines stay unchanged. is_busy()
    /// returns true afterwards if a node is scheduled.
    void restart(std::uint64_t now) noexcept;

    /// Removes and returns any node. Returns null if the wheel is empty.
    [[nodiscard]] node* take_any() noexcept;

private:
    static constexpr unsigned digit = 6; // in bits
    static constexpr unsigned slots = 1U << digit;
    static constexpr unsigned levels = (64 + digit - 1) / digit;
    static constexpr unsigned most_looked_at = 16; // next() inspects at most this many nodes of one slot
    static constexpr unsigned most_moved = 256;    // one pop() moves at most this many nodes

    /// The first slot with a node. `level` is `levels` if the wheel has no node.
    struct place {
        unsigned level;
        unsigned slot;
    };

    [[nodiscard]] place first() noexcept;
    [[nodiscard]] std::uint64_t start_of(place at) const noexcept;
    void put(node& moved) noexcept;
    [[nodiscard]] bool move_down() noexcept;
    static void append(link& list, link& fresh) noexcept;
    static void remove(link& one) noexcept;
    static void splice(link& from, link& to) noexcept;
    static node& node_of(link& one) noexcept { return static_cast<node&>(one); }

    std::uint64_t now_;
    std::uint32_t used_levels_ = 0; // one bit per level; set if a slot of the level may have nodes
    std::array<std::uint64_t, levels> used_slots_{}; // one bit per slot; set if the slot may have nodes
    link moving_; // nodes that are moving to lower levels, and are due before all other nodes
    std::array<std::array<link, slots>, levels> slots_;
};

} // namespace ekiden::inline EKIDEN_ABI
