/// The common base class of the mutexes that use a state_lock.
///
/// Part: sync. Used by: programs, through mutex, fifo_mutex and hybrid_mutex.
#pragma once

#include <ekiden/sync/detail/lock_note.hpp>
#include <ekiden/sync/detail/state_lock.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// The base class of mutex, fifo_mutex and hybrid_mutex.
///
/// Meets the standard's TimedMutex, so it works with std::unique_lock, std::scoped_lock and
/// std::condition_variable_any. The mutex is not recursive. If lock_checks is set, the program ends with a
/// message when a thread unlocks a mutex that it does not hold, or locks a mutex that it already holds. If
/// lock_checks is set, the program also ends with a message when a mutex is destroyed while a thread holds
/// it.
///
/// Thread safety: all members may be called concurrently. Destroy the mutex only when no thread holds the
/// mutex or waits for it.
/// Ordering: an unlock() happens before the next lock().
/// Initialization: constant.
class mutex_base {
public:
    /// The mask that contains the only state of the lock.
    static constexpr state_lock::mask free = 1;

    mutex_base(const mutex_base&) = delete;
    mutex_base& operator=(const mutex_base&) = delete;

    /// Locks the mutex. Waits while another thread holds the mutex.
    void lock() noexcept {
        note_.wanted(lock_.name(), "lock");
        lock_.enter_only();
        note_.taken(sys::hold::alone, lock_.name());
    }
    /// Locks the mutex. Gives up when `limit` is reached. Returns whether the mutex is locked now.
    [[nodiscard]] bool lock(const wait_limit& limit) noexcept { return noted(lock_.enter(free, limit)); }
    /// Locks the mutex. Waits for `duration` at most. Returns whether the mutex is locked now.
    [[nodiscard]] bool try_lock_for(const wait_duration& duration) { return lock(duration); }
    /// Locks the mutex. Waits until `deadline` at the latest. Returns whether the mutex is locked now.
    [[nodiscard]] bool try_lock_until(const wait_deadline& deadline) { return lock(deadline); }
    /// Locks the mutex if it is free. Does not wait, and does not fail spuriously. Returns whether the mutex
    /// is locked now.
    [[nodiscard]] bool try_lock() noexcept { return noted(lock_.try_enter(free)); }
    /// Unlocks the mutex. The calling thread must hold the mutex.
    void unlock() noexcept {
        note_.released(sys::hold::alone, lock_.name(), "unlock", lock_checks && lock_.passes(free));
        end_hold();
    }

protected:
    // A thread sleeps at once if other threads wait already. So the lock stays in the cache of one processor.
    // A lock that moves between the caches of processors is slower. A thread spins if no other thread waits,
    // because most sections are short.
    static constexpr state_rules plain{.spins = 12, .first_only = true, .name = "a mutex"};

    /// `rules` must outlive the mutex.
    constexpr explicit mutex_base(const state_rules& rules = plain) noexcept : lock_({}, rules) {}
    ~mutex_base() { note_.ended(lock_.name(), !lock_checks || lock_.passes(free)); }

    state_lock lock_;
    [[no_unique_address]] detail::lock_note note_;

private:
    friend struct detail::lock_access;
    [[nodiscard]] state_lock& core() noexcept { return lock_; }
    void end_hold() noexcept { lock_.exit(0); }

    bool noted(bool is_taken) noexcept {
        return note_.taken_if(is_taken, sys::hold::alone_tried, lock_.name());
    }
};

} // namespace ekiden::inline EKIDEN_ABI
