/// The waiters of a lock, each for a set of states, oldest first.
///
/// Part: sync. Used by: state_lock.
///
/// A waiter waits for a set of states, given as a mask. The list keeps one first-in-first-out queue per
/// distinct mask. The heads of these queues form a chain. So the search for the oldest waiter that a state
/// admits takes as many steps as there are distinct masks, for any number of waiters. The links lie in the
/// waiters, and the first waiter also has the data of the list. The list itself is one word, and nothing is
/// allocated. Source: the queue of masks of the abstract-state locks of Ohki and Kuno. The queues per mask
/// are added here.
#pragma once

#include <ekiden/sys/atomic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Addresses of waiters have this many bits.
inline constexpr unsigned waiter_address_bits =
#if defined(__x86_64__)
    47;
#elif defined(__LP64__)
    48;
#else
    32;
#endif

/// The base of a waiter: its place in a wait_list. The waiter must exist and must not move while it is
/// linked(). Only a thread that may use the list uses the members. There is one exception: the waiter sets
/// `mask`, and `next` for the stack of new waiters, before it is inserted.
struct wait_link {
    std::uint64_t mask = 0;    ///< the states waited for, bit i for state i
    wait_link* next = nullptr; ///< the next younger waiter with the same mask

    /// Returns whether the waiter is in a list.
    [[nodiscard]] bool linked() const noexcept { return place_ >= place::queued; }
    /// Returns whether the waiter is in a list or has been in one. A waiter that was lent returns to its old
    /// place.
    [[nodiscard]] bool has_ticket() const noexcept { return place_ != place::nowhere; }

private:
    enum class place : std::uint8_t { nowhere, out, queued, head };

    friend class wait_list;
    wait_link* older_ = nullptr; // the next older waiter with the same mask; in the head: the youngest
    // In the first head of the chain: the number of waiters, and in the upper half the next ticket. They
    // share one word, because reading two halves by one load would defeat store forwarding.
    sys::cell<std::uint64_t> totals_{0};
    wait_link* next_queue_ = nullptr; // in the head of a queue: the head of another mask's queue
    std::uint32_t ticket_ = 0;        // order of arrival, compared by signed difference
    place place_ = place::nowhere;
};

/// Not thread-safe, except note(): the lock that owns it decides which thread may use it. It must be empty
/// when it is destroyed.
class wait_list {
public:
    constexpr wait_list() noexcept = default;
    wait_list(const wait_list&) = delete;
    wait_list& operator=(const wait_list&) = delete;

    /// Adds a waiter as the youngest one. A waiter that has_ticket() was lent last, and returns to its old
    /// place.
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
            wait_link* older = head->older_;                      // the youngest
            while (before(waiter, *older)) older = older->older_; // stops at the head at the latest
            insert_after(*older, *head, waiter);
        }
    }

    /// Returns the oldest waiter whose mask contains `state`, or null. Steps: the number of distinct masks.
    [[nodiscard]] wait_link* oldest(unsigned state) const noexcept {
        return oldest_head([state](const wait_link& head) { return ((head.mask >> state) & 1U) != 0; });
    }

    /// Returns the oldest of all waiters, or null.
    [[nodiscard]] wait_link* oldest() const noexcept {
        return oldest_head([](const wait_link&) { return true; });
    }

    /// Of the oldest waiters of each mask, returns the oldest one that `accept(const wait_link&)` accepts, or
    /// null.
    template <class Accept>
    [[nodiscard]] wait_link* oldest_head(Accept accept) const noexcept {
        wait_link* found = nullptr;
        for (wait_link* head = first_head(); head != nullptr; head = head->next_queue_) {
            if ((found == nullptr || before(*head, *found)) && accept(*head)) found = head;
        }
        return found;
    }

    /// Removes a waiter. Steps: at most the number of distinct masks.
    void remove(wait_link& waiter) noexcept {
        wait_link* const first = first_head();
        first->totals_.write(first->totals_.read() - 1);
        if (std::exchange(waiter.place_, place::out) != place::head) {
            waiter.older_->next = waiter.next;
            if (waiter.next != nullptr)
                waiter.next->older_ = waiter.older_;
            else
                queue_of(waiter.mask, first)->older_ = waiter.older_; // the youngest now, perhaps the head
            return;
        }
        wait_link* heir = waiter.next;
        if (heir != nullptr) {
            heir->place_ = place::head;
            heir->older_ = waiter.older_; // the youngest, perhaps the heir itself
            heir->next_queue_ = waiter.next_queue_;
        } else {
            heir = waiter.next_queue_;
        }
        replace_head(waiter, heir);
    }

    /// Removes a waiter that may be inserted again. Only one waiter is lent at a time: the previous one has
    /// been inserted again, or never will be.
    void lend(wait_link& waiter) noexcept {
        remove(waiter);
        const std::uint64_t word = word_.load(sys::relaxed);
        if (first_in(word) != nullptr) word_.store(word & ~began_anew, sys::relaxed);
    }

    /// Returns the union of all masks; 0 if the list is empty.
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

    /// Returns a number that the owner keeps here, at most max_note. It is 0 at first. Any thread may read
    /// it, which orders nothing.
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

    // The word:
    //   bits     name        meaning
    //   lowest   note
    //   next     began anew  the list has been empty since a waiter was lent. Tickets then began again, so
    //                        the ticket of that waiter is invalid. It is older than all waiters in the list
    //   others   first       the address of the head of the first queue. `began anew` uses the place of its
    //                        lowest bit, which is always 0
    static constexpr std::uint64_t began_anew = std::uint64_t{1} << note_bits;
    static constexpr std::uint64_t lowest_address = began_anew << 1;
    static_assert(alignof(wait_link) > 1);

    // The first ticket. Tickets start shortly before they wrap, so that short queues test the wrap. Fewer
    // than 2^31 may be in use at once.
    static constexpr std::uint32_t first_ticket = ~std::uint32_t{0} - 1;
    static constexpr std::uint64_t one_ticket = std::uint64_t{1} << 32; // in the totals

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

    // Replaces `head` in the chain by `now`, or removes it if `now` is null.
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
        waiter.older_ = head.older_; // the youngest, perhaps the old head itself
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
            head.older_ = &waiter; // the youngest
        waiter.older_ = &older;
        waiter.place_ = place::queued;
        older.next = &waiter;
    }

    sys::atomic<std::uint64_t> word_{0}; // relaxed: the owner orders all accesses except note()
};

} // namespace ekiden::inline EKIDEN_ABI
