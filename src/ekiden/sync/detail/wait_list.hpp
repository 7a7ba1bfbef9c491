/// The list of the waiters of a lock. The list can find the oldest waiter that a given state admits.
///
/// Part: sync. Used by: state_lock.
///
/// Each waiter waits for a set of states, which is represented by a mask. The list has one first-in-first-out
/// queue for each distinct mask. The heads of these queues form a chain. So the search for the oldest waiter
/// that a state admits takes one step for each distinct mask. The number of waiters does not affect this
/// cost. The links are members of the waiters, and the first waiter also stores the data of the list. So the
/// list itself is one word, and never allocates memory. The design follows the queue of masks in the
/// abstract-state locks of Ohki and Kuno. ekiden adds a separate queue for each mask.
#pragma once

#include <ekiden/sys/atomic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The number of bits in the address of a waiter.
inline constexpr unsigned waiter_address_bits =
#if defined(__x86_64__)
    47;
#elif defined(__LP64__)
    48;
#else
    32;
#endif

/// The base class of a waiter, which links the waiter into a wait_list. The waiter must exist and must not
/// move while linked() is true. Only a thread that may use the list may access the members, with one
/// exception. Before a waiter is inserted, the waiting thread sets `mask`, and links the waiter to other new
/// waiters by `next`.
struct wait_link {
    std::uint64_t mask = 0;    ///< the states that the waiter waits for; bit i stands for state i
    wait_link* next = nullptr; ///< the next younger waiter with the same mask

    /// Returns whether the waiter is in a list.
    [[nodiscard]] bool linked() const noexcept { return place_ >= place::queued; }
    /// Returns whether the waiter is in a list or has been in one.
    [[nodiscard]] bool has_ticket() const noexcept { return place_ != place::nowhere; }

private:
    enum class place : std::uint8_t { nowhere, out, queued, head };

    friend class wait_list;
    // The next older waiter with the same mask. In the head of a queue, older_ is the youngest waiter of the
    // queue.
    wait_link* older_ = nullptr;
    // In the first head of the chain, the lower half of totals_ is the number of waiters, and the upper half
    // is the next ticket. The two halves are one member, because a load of both halves after two smaller
    // stores could not use store forwarding.
    sys::cell<std::uint64_t> totals_{0};
    wait_link* next_queue_ = nullptr; // in the head of a queue, this is the next head in the chain
    std::uint32_t ticket_ = 0;        // the ticket gives the order of arrival
    place place_ = place::nowhere;
};

/// A list of waiters in the order of arrival.
///
/// Thread safety: one thread at a time may use the list, and the lock that owns the list chooses this thread.
/// But any thread may call note().
/// Lifetime: the list must be empty when it is destroyed.
class wait_list {
public:
    constexpr wait_list() noexcept = default;
    wait_list(const wait_list&) = delete;
    wait_list& operator=(const wait_list&) = delete;

    /// Adds a waiter. A waiter without a ticket becomes the youngest one. A waiter with a ticket must be the
    /// waiter that lend() has removed last. The list puts this waiter at its old place.
    void insert(wait_link& waiter) noexcept {
        const std::uint64_t word = word_.load(sys::relaxed);
        wait_link* const first = first_in(word);
        if (first == nullptr) {
            waiter.ticket_ = first_ticket;
            waiter.totals_.write((std::uint64_t{first_ticket} << 32) + one_ticket + 1);
            begin_queue(waiter, nullptr);
            word_.store(with_first(word, &waiter), sys::relaxed);
            return;
        }
        const std::uint64_t totals = first->totals_.read();
        if (!waiter.has_ticket()) {
            waiter.ticket_ = static_cast<std::uint32_t>(totals >> 32);
            first->totals_.write(totals + one_ticket + 1);
        } else {
            if ((word & began_anew) != 0) waiter.ticket_ = oldest()->ticket_ - 1;
            first->totals_.write(totals + 1);
        }
        wait_link* const head = queue_of(waiter.mask, first);
        if (head == nullptr) {
            begin_queue(waiter, first->next_queue_);
            first->next_queue_ = &waiter;
        } else if (before(waiter, *head)) {
            push_front(*head, waiter);
        } else {
            wait_link* older = head->older_;                      // the youngest waiter of the queue
            while (before(waiter, *older)) older = older->older_; // the loop ends at the head, at the latest
            insert_after(*older, *head, waiter);
        }
    }

    /// Returns the oldest waiter whose mask contains `state`, or null. The search takes as many steps as
    /// there are distinct masks.
    [[nodiscard]] wait_link* oldest(unsigned state) const noexcept {
        return oldest_head([state](const wait_link& head) { return ((head.mask >> state) & 1U) != 0; });
    }

    /// Returns the oldest of all waiters, or null.
    [[nodiscard]] wait_link* oldest() const noexcept {
        return oldest_head([](const wait_link&) { return true; });
    }

    /// Compares the oldest waiters of all masks. Returns the oldest of these waiters for which
    /// `accept(const wait_link&)` returns true, or null.
    template <class Accept>
    [[nodiscard]] wait_link* oldest_head(Accept accept) const noexcept {
        wait_link* found = nullptr;
        for (wait_link* head = first_head(); head != nullptr; head = head->next_queue_) {
            if ((found == nullptr || before(*head, *found)) && accept(*head)) found = head;
        }
        return found;
    }

    /// Removes a waiter. The call takes at most as many steps as there are distinct masks.
    void remove(wait_link& waiter) noexcept {
        wait_link* const first = first_head();
        first->totals_.write(first->totals_.read() - 1);
        if (std::exchange(waiter.place_, place::out) != place::head) {
            waiter.older_->next = waiter.next;
            if (waiter.next != nullptr)
                waiter.next->older_ = waiter.older_;
            else
                queue_of(waiter.mask, first)->older_ = waiter.older_; // waiter.older_ is the youngest now
            return;
        }
        wait_link* heir = waiter.next;
        if (heir != nullptr) {
            heir->place_ = place::head;
            heir->older_ = waiter.older_; // the youngest waiter, which can be the heir itself
            heir->next_queue_ = waiter.next_queue_;
        } else {
            heir = waiter.next_queue_;
        }
        replace_head(waiter, heir);
    }

    /// Lends a waiter, which means that the list removes a waiter that may be inserted again later. At most
    /// one waiter is lent at a time. So the waiter that was lent before must have been inserted again, or
    /// must never be inserted again.
    void lend(wait_link& waiter) noexcept {
        remove(waiter);
        const std::uint64_t word = word_.load(sys::relaxed);
        if (first_in(word) != nullptr) word_.store(word & ~began_anew, sys::relaxed);
    }

    /// Returns the union of all masks, or 0 if the list is empty.
    [[nodiscard]] std::uint64_t masks() const noexcept {
        std::uint64_t all = 0;
        for (const wait_link* head = first_head(); head != nullptr; head = head->next_queue_)
            all |= head->mask;
        return all;
    }

    [[nodiscard]] bool empty() const noexcept { return word_.load(sys::relaxed) < lowest_address; }
    [[nodiscard]] std::uint32_t size() const noexcept {
        const wait_link* const first = first_head();
        return first == nullptr ? 0 : static_cast<std::uint32_t>(first->totals_.read());
    }

    /// Returns the note, a number that the owner of the list stores in the list. The note is at most
    /// max_note, and is 0 at first. Any thread may read the note. The read does not order memory.
    [[nodiscard]] std::uint32_t note() const noexcept {
        return static_cast<std::uint32_t>(word_.load(sys::relaxed)) & max_note;
    }
    void set_note(std::uint32_t note) noexcept {
        word_.store((word_.load(sys::relaxed) & ~std::uint64_t{max_note}) | note, sys::relaxed);
    }

    static constexpr unsigned note_bits = std::min(64 - waiter_address_bits, 31U);
    static constexpr std::uint32_t max_note = (std::uint32_t{1} << note_bits) - 1;

private:
    using place = wait_link::place;

    // The lowest bits of the word are the note, and the next bit is began_anew. The other bits are the
    // address of the head of the first queue. The lowest bit of this address is always 0, so
    // began_anew is stored in its place.
    //
    // began_anew is set if the list has been empty since a waiter was lent. The tickets have then started
    // again, so the ticket of the lent waiter is invalid. If began_anew is set, the lent waiter is older than
    // all waiters in the list.
    static constexpr std::uint64_t began_anew = std::uint64_t{1} << note_bits;
    static constexpr std::uint64_t lowest_address = began_anew << 1;
    static_assert(alignof(wait_link) > 1);

    // The first ticket. Tickets start shortly before they wrap around, so that tests with short queues reach
    // the wrap-around. Fewer than 2^31 tickets may be in use at once.
    static constexpr std::uint32_t first_ticket = ~std::uint32_t{0} - 1;
    static constexpr std::uint64_t one_ticket = std::uint64_t{1} << 32; // is added to totals_ for each ticket

    static bool before(const wait_link& a, const wait_link& b) noexcept {
        return static_cast<std::int32_t>(a.ticket_ - b.ticket_) < 0;
    }

    static wait_link* first_in(std::uint64_t word) noexcept {
        return reinterpret_cast<wait_link*>(
            static_cast<std::uintptr_t>(word >> note_bits & ~std::uint64_t{1}));
    }
    static std::uint64_t with_first(std::uint64_t word, const wait_link* head) noexcept {
        return (word & (lowest_address - 1))
               | std::uint64_t{reinterpret_cast<std::uintptr_t>(head)} << note_bits;
    }
    wait_link* first_head() const noexcept { return first_in(word_.load(sys::relaxed)); }

    // Returns the head of the queue for `mask`, or null. `head` is the first head of the chain.
    static wait_link* queue_of(std::uint64_t mask, wait_link* head) noexcept {
        while (head != nullptr && head->mask != mask) head = head->next_queue_;
        return head;
    }

    // Replaces `head` in the chain by `now`, or removes `head` if `now` is null.
    void replace_head(const wait_link& head, wait_link* now) noexcept {
        const std::uint64_t word = word_.load(sys::relaxed);
        wait_link* queue = first_in(word);
        if (queue != &head) {
            while (queue->next_queue_ != &head) queue = queue->next_queue_;
            queue->next_queue_ = now;
        } else if (now != nullptr) {
            now->totals_.write(head.totals_.read());
            word_.store(with_first(word, now), sys::relaxed);
        } else {
            word_.store(with_first(word, nullptr) | began_anew, sys::relaxed);
        }
    }

    static void begin_queue(wait_link& waiter, wait_link* next_queue) noexcept {
        waiter.next = nullptr;
        waiter.next_queue_ = next_queue;
        waiter.older_ = &waiter;
        waiter.place_ = place::head;
    }

    void push_front(wait_link& head, wait_link& waiter) noexcept {
        waiter.next = &head;
        waiter.older_ = head.older_; // the youngest waiter, which can be the old head itself
        waiter.next_queue_ = head.next_queue_;
        waiter.place_ = place::head;
        head.older_ = &waiter;
        head.place_ = place::queued;
        replace_head(head, &waiter);
    }

    static void insert_after(wait_link& older, wait_link& head, wait_link& waiter) noexcept {
        waiter.next = older.next;
        if (older.next != nullptr)
            older.next->older_ = &waiter;
        else
            head.older_ = &waiter; // `waiter` is now the youngest waiter
        waiter.older_ = &older;
        waiter.place_ = place::queued;
        older.next = &waiter;
    }

    // Relaxed is enough, because the owner orders all accesses except note().
    sys::atomic<std::uint64_t> word_{0};
};

} // namespace ekiden::inline EKIDEN_ABI
