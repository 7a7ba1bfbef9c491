/// Which of very many deadlines comes next: a hierarchical timing wheel.
///
/// Part: timer. Used by: timer_queue. Private.
///
/// Algorithm: G. Varghese and A. Lauck, "Hashed and Hierarchical Timing Wheels" (1987), scheme 7. A level has
/// 64 slots; a slot is as wide as all of the level below, and those of the lowest level are one unit of time
/// wide, so that nothing is ever sorted and nothing comes early. A node lies on the level of the highest
/// digit, to base 64, in which its deadline differs from the present: then whatever lies on a level comes
/// before all that lies above it, and one bit mask per level finds the next slot. New is that the next
/// deadline is told exactly while few nodes share its slot, so that a thread need not wake up for each level;
/// and that a crowded slot is taken down in steps.
#pragma once

#include <ekiden/sys/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Nodes in order of their deadlines, those with the same deadline in order of schedule(). Times are numbers
/// of any unit; all 64 bits are used. Every call takes constant time. Not thread-safe. Owns nothing; must be
/// empty at its end.
class timer_wheel {
    struct link {
        link* next = nullptr;
        link* prev = nullptr;
    };

public:
    /// No deadline at all: nothing comes as late.
    static constexpr std::uint64_t never = UINT64_MAX;

    /// Something with a deadline, in at most one wheel.
    class node : link {
    public:
        node() noexcept = default;
        node(const node&) = delete;
        node& operator=(const node&) = delete;

        /// As it was scheduled last.
        [[nodiscard]] std::uint64_t deadline() const noexcept { return deadline_; }
        [[nodiscard]] bool is_scheduled() const noexcept { return next != nullptr; }

    protected:
        ~node() = default;

    private:
        friend class timer_wheel;
        std::uint64_t deadline_ = 0;
    };

    /// Begins at the time `now`.
    explicit timer_wheel(std::uint64_t now) noexcept;
    timer_wheel(const timer_wheel&) = delete;
    timer_wheel& operator=(const timer_wheel&) = delete;

    /// The time up to which pop() has looked. It never goes back, but for restart().
    [[nodiscard]] std::uint64_t now() const noexcept { return now_; }

    /// `fresh` is in no wheel. A deadline up to now() comes next, behind others of the kind: all of them are
    /// due, and to put them in order would take as long as there are many.
    void schedule(node& fresh, std::uint64_t deadline) noexcept;

    /// `scheduled` is in this wheel.
    void cancel(node& scheduled) noexcept;

    /// Takes out the next node whose deadline is at most `until`, which is not before now(). Null if there is
    /// none, and then now() is `until`; or if the search has taken long: then is_busy().
    [[nodiscard]] node* pop(std::uint64_t until) noexcept;

    /// pop() has not finished: call it again.
    [[nodiscard]] bool is_busy() const noexcept { return moving_.next != &moving_; }

    /// When pop() has something to do: the first deadline, or, if it shares a slot with many, some time
    /// before it. `never` if nothing is scheduled.
    [[nodiscard]] std::uint64_t next() noexcept;

    /// The clock was set back: time goes on at `now`. All deadlines stay. is_busy() afterwards.
    void restart(std::uint64_t now) noexcept;

    /// Takes out any node; null if there is none.
    [[nodiscard]] node* take_any() noexcept;

private:
    static constexpr unsigned digit = 6; // bits
    static constexpr unsigned slots = 1U << digit;
    static constexpr unsigned levels = (64 + digit - 1) / digit;
    static constexpr unsigned most_looked_at = 16; // nodes of one slot, for next()
    static constexpr unsigned most_moved = 256;    // nodes, in one pop()

    /// The first slot that holds a node; level is `levels` if none does.
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
    std::uint32_t used_levels_ = 0;                  // bit per level: some bit of used_slots_ is set
    std::array<std::uint64_t, levels> used_slots_{}; // bit per slot: it may hold nodes
    link moving_;                                    // nodes on their way down, before all others
    std::array<std::array<link, slots>, levels> slots_;
};

} // namespace ekiden::inline EKIDEN_ABI
