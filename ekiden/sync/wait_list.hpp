/// The waiters of a lock, each for a set of states, oldest first.
///
/// Part: sync. Used by: state_lock.
///
/// A waiter waits for a set of states, given as a mask. The list keeps one first-in-first-out queue per
/// distinct mask; the heads of these queues form a chain. Finding the oldest waiter that a state admits
/// therefore costs as many steps as there are distinct masks, whatever the number of waiters. The links lie
/// in the waiters: nothing is allocated. Idea: the queue of masks of the abstract-state locks of Ohki and
/// Kuno; the queues per mask are ours.
#pragma once

#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A waiter's place in a wait_list: the base of what waits. Owned by the waiter, which keeps it alive and in
/// place as long as `linked` is set. All members belong to whoever may touch the list, except that the waiter
/// sets `mask` (and, for its own stack of newcomers, `next`) before it is appended.
struct wait_link {
    std::uint64_t mask = 0;    ///< the states waited for, bit i for state i
    std::uint64_t ticket = 0;  ///< order of arrival, compared by signed difference
    wait_link* next = nullptr; ///< the next younger one with the same mask

private:
    friend class wait_list;
    wait_link* older_ = nullptr;      // the next older one with the same mask; in the head: the youngest
    wait_link* next_queue_ = nullptr; // in the head of a queue: the head of another mask's queue
    bool is_head_ = false;

public:
    bool linked = false;     ///< in a list
    bool has_ticket = false; ///< was in the list before and returns to its old place
};

/// Not thread-safe: the owner (a lock) says who may touch it. Empty at its destruction.
class wait_list {
public:
    /// `first_ticket`: where the tickets start. They wrap; fewer than 2^63 may be in use at once.
    constexpr explicit wait_list(std::uint64_t first_ticket = 0) noexcept : next_ticket_(first_ticket) {}
    wait_list(const wait_list&) = delete;
    wait_list& operator=(const wait_list&) = delete;

    /// Adds the youngest waiter, or one that comes back (has_ticket) at the place of its old ticket.
    void insert(wait_link& waiter) noexcept {
        if (!waiter.has_ticket) {
            waiter.ticket = next_ticket_++;
            waiter.has_ticket = true;
        }
        waiter.linked = true;
        size_.write(size_.read() + 1);
        if (size_.read() > longest()) longest_.store(size_.read(), sys::relaxed);
        wait_link** place = queue_of(waiter.mask);
        if (*place == nullptr) {
            waiter.next = waiter.next_queue_ = nullptr;
            waiter.older_ = &waiter;
            waiter.is_head_ = true;
            *place = &waiter;
            return;
        }
        wait_link& head = **place;
        if (before(waiter, head)) {
            push_front(place, waiter);
            return;
        }
        wait_link* older = head.older_;                       // the youngest
        while (before(waiter, *older)) older = older->older_; // ends at the head at the latest
        insert_after(*older, head, waiter);
    }

    /// The oldest waiter whose mask contains `state`, or null. Steps: the number of distinct masks.
    [[nodiscard]] wait_link* oldest(unsigned state) const noexcept {
        return oldest_head([state](const wait_link& head) { return ((head.mask >> state) & 1U) != 0; });
    }

    /// The oldest of all waiters, or null.
    [[nodiscard]] wait_link* oldest() const noexcept {
        return oldest_head([](const wait_link&) { return true; });
    }

    /// Among the oldest of each mask, the oldest one that `accept(const wait_link&)` accepts, or null.
    template <class Accept>
    [[nodiscard]] wait_link* oldest_head(Accept accept) const noexcept {
        wait_link* found = nullptr;
        for (wait_link* head = queues_; head != nullptr; head = head->next_queue_) {
            if ((found == nullptr || before(*head, *found)) && accept(*head)) found = head;
        }
        return found;
    }

    /// Takes out a waiter of this list (`linked`). Steps: at most the number of distinct masks.
    void remove(wait_link& waiter) noexcept {
        waiter.linked = false;
        size_.write(size_.read() - 1);
        if (!waiter.is_head_) {
            waiter.older_->next = waiter.next;
            if (waiter.next != nullptr)
                waiter.next->older_ = waiter.older_;
            else
                (*queue_of(waiter.mask))->older_ = waiter.older_; // the youngest now, perhaps the head itself
            return;
        }
        wait_link** place = queue_of(waiter.mask);
        waiter.is_head_ = false;
        if (waiter.next == nullptr) {
            *place = waiter.next_queue_;
            return;
        }
        waiter.next->is_head_ = true;
        if (waiter.next->next != nullptr)
            waiter.next->older_ = waiter.older_;
        else
            waiter.next->older_ = waiter.next;
        waiter.next->next_queue_ = waiter.next_queue_;
        *place = waiter.next;
    }

    /// All states that somebody in the list waits for; 0 when it is empty.
    [[nodiscard]] std::uint64_t masks() const noexcept {
        std::uint64_t all = 0;
        for (const wait_link* head = queues_; head != nullptr; head = head->next_queue_) all |= head->mask;
        return all;
    }

    [[nodiscard]] bool empty() const noexcept { return queues_ == nullptr; }
    [[nodiscard]] std::size_t size() const noexcept { return size_.read(); }
    /// Any thread: the largest size so far. Orders nothing.
    [[nodiscard]] std::size_t longest() const noexcept { return longest_.load(sys::relaxed); }

private:
    static bool before(const wait_link& a, const wait_link& b) noexcept {
        return static_cast<std::int64_t>(a.ticket - b.ticket) < 0;
    }

    // Where the pointer to the head of `mask`'s queue is or, if there is none, would be.
    wait_link** queue_of(std::uint64_t mask) noexcept {
        wait_link** place = &queues_;
        while (*place != nullptr && (*place)->mask != mask) place = &(*place)->next_queue_;
        return place;
    }

    static void push_front(wait_link** place, wait_link& waiter) noexcept {
        wait_link& head = **place;
        waiter.next = &head;
        waiter.older_ = head.older_; // the youngest, perhaps the old head itself
        waiter.next_queue_ = head.next_queue_;
        waiter.is_head_ = true;
        head.older_ = &waiter;
        head.is_head_ = false;
        *place = &waiter;
    }

    static void insert_after(wait_link& older, wait_link& head, wait_link& waiter) noexcept {
        waiter.next = older.next;
        if (older.next != nullptr)
            older.next->older_ = &waiter;
        else
            head.older_ = &waiter; // the youngest
        waiter.older_ = &older;
        waiter.is_head_ = false;
        older.next = &waiter;
    }

    wait_link* queues_ = nullptr;
    std::uint64_t next_ticket_;
    sys::cell<std::size_t> size_{0};
    sys::atomic<std::size_t> longest_{0};
};

} // namespace ekiden::inline EKIDEN_ABI
