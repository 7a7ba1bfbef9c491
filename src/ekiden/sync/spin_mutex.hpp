/// A mutex of one byte without a list of waiters, for critical sections that take much less than a
/// microsecond.
///
/// Part: sync. Used by: users. The algorithm is test-and-test-and-set with exponential back-off (Anderson
/// 1990). Use a spin_mutex only if threads hold it for less than 1 us and contention is low. In all other
/// cases use `mutex`.
#pragma once

#include <ekiden/sync/detail/lock_note.hpp>
#include <ekiden/sys/atomic.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// A mutex of one byte whose waiting threads spin.
///
/// Meets the standard's Lockable. A waiting thread first spins with exponential back-off. Then the thread
/// yields. If yields are slow, the thread sleeps for about 50 us at a time instead. Waiting threads do not
/// form a queue, so a thread can starve under constant contention. The function lock() has no overload with a
/// limit, because critical sections should be short. A caller that may have to give up uses try_lock() or
/// another mutex.
///
/// Thread safety: all members may be called concurrently.
/// Ordering: an unlock() happens before the next lock().
/// Initialization: constant.
class spin_mutex {
public:
#if defined(EKIDEN_LOCK_CHECKS) // without the checks, a spin_mutex is trivially destructible
    constexpr spin_mutex() noexcept = default;
    spin_mutex(const spin_mutex&) = delete;
    spin_mutex& operator=(const spin_mutex&) = delete;
    ~spin_mutex() { note_.ended(name, !taken_.load(sys::relaxed)); }
#endif

    /// Locks the mutex. Waits while another thread holds the mutex.
    void lock() noexcept {
        note_.wanted(name, "lock");
        if (!take_now()) [[unlikely]]
            lock_slow();
        note_.taken(sys::hold::alone, name);
    }
    /// Locks the mutex if it is free. Returns whether the mutex is locked now.
    [[nodiscard]] bool try_lock() noexcept {
        return note_.taken_if(take_now(), sys::hold::alone_tried, name);
    }
    /// Unlocks the mutex. The calling thread must hold the mutex.
    void unlock() noexcept {
        note_.released(sys::hold::alone, name, "unlock", lock_checks && !taken_.load(sys::relaxed));
        // [SM1] Release: publishes the work inside the lock. Pairs with the acquire in take_now().
        taken_.store(false, sys::release);
    }

private:
    static constexpr const char* name = "a spin_mutex";

    bool take_now() noexcept {
        // [SM1] Acquire. Pairs with the release in unlock().
        return !taken_.load(sys::relaxed) && !taken_.exchange(true, sys::acquire);
    }
    void lock_slow() noexcept;

    sys::atomic<bool> taken_{false};
    [[no_unique_address]] detail::lock_note note_;
};

} // namespace ekiden::inline EKIDEN_ABI
