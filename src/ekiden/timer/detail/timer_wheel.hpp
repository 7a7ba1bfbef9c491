/// A hierarchical timing wheel. It finds the next of many deadlines.
///
/// Part: timer. Used by: timer_queue. Private.
///
/// Algorithm: G. Varghese and A. Lauck, "Hashed and Hierarchical Timing Wheels" (1987), scheme 7. A level has
/// 64 slots. A slot is as wide as the whole level below. A slot of the lowest level is one unit of time wide,
/// so no node is sorted or early. A node lies on the level of the highest digit (to base 64) in which its
/// deadline differs from the current time. So all nodes of a level are due before all nodes of higher levels,
/// and one bit mask per level finds the next slot.
///
/// Two things are new. next() returns the exact deadline while few nodes share its slot, so that the thread
/// need not wake up at each level. A crowded slot moves down in steps.
#pragma once

#include <ekiden/sys/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Nodes in order of their deadlines. Nodes with the same deadline are in the order of their schedule()
/// calls. Times may have any unit and use all 64 bits. Every call takes constant time. Not thread-safe. Owns
/// nothing. Must be empty when it is destroyed.
class timer_wheel {
    struct link {
        link* next = nullptr;
        link* prev = nullptr;
    };

public:
    /// Means that there is no deadline. Later than any other deadline.
    static constexpr std::uint64_t never = UINT64_MAX;

    /// An object with a deadline, in at most one wheel.
    class node : link {
    public:
        node() noexcept = default;
        node(const node&) = delete;
        node& operator=(const node&) = delete;

        /// Returns the deadline of the last schedule().
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

    /// Returns the time up to which pop() has searched. Only restart() moves it backwards.
    [[nodiscard]] std::uint64_t now() const noexcept { return now_; }

    /// Adds `fresh`, which must not be in a wheel. If the deadline is at most now(), the node comes next,
    /// behind other such nodes. Such nodes are all due. They are not sorted, because sorting does not take
    /// constant time.
    void schedule(node& fresh, std::uint64_t deadline) noexcept;

    /// Removes `scheduled`, which must be in this wheel.
    void cancel(node& scheduled) noexcept;

    /// Removes and returns the next node whose deadline is at most `until`. `until` must not be before now().
    /// Returns null if there is no such node, and then now() is `until`. Also returns null if the search
    /// would take too long, and then is_busy() is true.
    [[nodiscard]] node* pop(std::uint64_t until) noexcept;

    /// Returns whether pop() has not finished. Then call pop() again.
    [[nodiscard]] bool is_busy() const noexcept { return moving_.next != &moving_; }

    /// Returns the time at which pop() must be called: the first deadline, or an earlier time if many nodes
    /// share its slot. `never` if no node is scheduled.
    [[nodiscard]] std::uint64_t next() noexcept;

    /// Continues at the time `now` after the clock was set back. All deadlines stay. Then is_busy() is true.
    void restart(std::uint64_t now) noexcept;

    /// Removes and returns any node. Null if there is none.
    [[nodiscard]] node* take_any() noexcept;

private:
    static constexpr unsigned digit = 6; // in bits
    static constexpr unsigned slots = 1U << digit;
    static constexpr unsigned levels = (64 + digit - 1) / digit;
    static constexpr unsigned most_looked_at = 16; // next() inspects at most this many nodes of one slot
    static constexpr unsigned most_moved = 256;    // one pop() moves at most this many nodes

    /// The first slot with a node. `level` is `levels` if there is none.
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
    std::uint32_t used_levels_ = 0; // a bit for each level: set if a bit of used_slots_ is set
    std::array<std::uint64_t, levels> used_slots_{}; // a bit for each slot: set if the slot may have nodes
    link moving_; // nodes that are moving to lower levels; they are due before all others
    std::array<std::array<link, slots>, levels> slots_;
};

} // namespace ekiden::inline EKIDEN_ABI
