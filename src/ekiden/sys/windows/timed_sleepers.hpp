/// The waits on a word until a deadline, for a system whose own waits on a word have no exact deadline.
///
/// Part: sys. Used by: the futex functions for Windows, and the model timed_sleepers in check/. Private.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI::sys {

/// The threads that sleep until a deadline, each on the word whose address it has listed. One object serves
/// all words whose addresses have the same hash. Thread-safe.
///
/// `Event` belongs to one thread. set() ends the current or the next wait_until(deadline). Before a wait, the
/// event is not set. reset() withdraws a set() that no wait has consumed.
template <class Lock, class Event>
class timed_sleepers {
public:
    /// If `word` holds `expected`, sleeps until wake() chooses this thread, or until `deadline`. Returns
    /// false if the deadline has passed and no wake() has chosen this thread.
    [[nodiscard]] bool wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected, Event& event,
                                  clock::time_point deadline) {
        sleeper self{&word, &event};
        if (!add(self, word, expected)) return true;
        event.wait_until(deadline);
        if (withdraw(self)) return clock::now() < deadline;
        // wake() has set the event, perhaps after the deadline. The next wait must not see it.
        event.reset();
        return true;
    }

    /// Wakes up to `most` threads that sleep on a word with this address. Returns the number of these
    /// threads. The caller has changed the word before. The word may have been destroyed.
    int wake(const void* address, int most) {
        // [TS1] Orders the caller's change of the word before the load of count_. Pairs with add().
        if (!EKIDEN_MUTANT(timed_sleepers_wake_without_a_fence)) fence(seq_cst);
        if (count_.load(relaxed) == 0) return 0;
        const std::lock_guard guard(lock_);
        return remove(
            most, [=](const sleeper& other) { return other.address == address; },
            [](const sleeper& other) { other.event->set(); });
    }

private:
    struct sleeper {
        const void* address;
        Event* event;
        sleeper* next = nullptr;
        bool is_listed = true; // lock_ protects it
    };

    /// Lists the sleeper if the word holds the expected value. The comparison needs the lock. Without the
    /// lock, wake() may choose a thread that does not sleep, while another thread continues to sleep.
    bool add(sleeper& self, const atomic<std::uint32_t>& word, std::uint32_t expected) {
        const std::lock_guard guard(lock_);
        // [TS1] seq_cst: this thread changes count_, and then reads the word. A waker changes the word,
        // executes a fence, and then reads count_. So the waker sees the new count_, or this thread sees the
        // new word. If the waker sees count_, the waker locks, and finds this thread in the list.
        count_.fetch_add(1, seq_cst);
        if (word.load(seq_cst) != expected && !EKIDEN_MUTANT(timed_sleepers_list_without_a_look)) {
            count_.fetch_sub(1, relaxed);
            return false;
        }
        (last_ == nullptr ? first_ : last_->next) = &self;
        last_ = &self;
        return true;
    }

    /// Removes up to `most` sleepers for which `is_meant` is true, and calls `act` for each. The caller holds
    /// the lock.
    template <class Meant, class Act>
    int remove(int most, Meant is_meant, Act act) {
        int removed = 0;
        sleeper* before = nullptr;
        for (sleeper* at = first_; at != nullptr && removed < most;) {
            sleeper* const next = at->next;
            if (!is_meant(*at)) {
                before = at;
            } else {
                (before == nullptr ? first_ : before->next) = next;
                if (next == nullptr) last_ = before;
                at->is_listed = false;
                count_.fetch_sub(1, relaxed);
                act(*at); // the sleeper may be destroyed as soon as the lock is released
                ++removed;
            }
            at = next;
        }
        return removed;
    }

    /// Removes the calling thread's own sleeper. Returns false if wake() has removed it.
    bool withdraw(sleeper& self) {
        const std::lock_guard guard(lock_);
        const bool was_listed = self.is_listed;
        if (was_listed)
            (void)remove(1, [&](const sleeper& other) { return &other == &self; }, [](const sleeper&) {});
        return was_listed;
    }

    Lock lock_;
    sleeper* first_ = nullptr;
    sleeper* last_ = nullptr;
    atomic<unsigned> count_{0};
};

} // namespace ekiden::inline EKIDEN_ABI::sys
