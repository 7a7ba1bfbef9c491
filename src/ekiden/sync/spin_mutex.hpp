/// A mutex of one byte without a list of waiters, for sections well below a microsecond.
///
/// Part: sync. Used by: users. Test-and-test-and-set with exponential back-off (Anderson 1990). The rule:
/// hold it for less than 1 us, and with little contention. Otherwise use `mutex`.
#pragma once

#include <ekiden/sync/detail/lock_note.hpp>
#include <ekiden/sys/atomic.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// A mutex of one byte whose waiting threads spin.
///
/// Meets the standard's Lockable. A waiting thread spins with exponential back-off. It then yields, or sleeps
/// for some 50 us at a time where yields are slow. Waiting threads have no order, so one can starve under
/// constant contention. lock() has no form with a limit, because its sections are too short for one. A caller
/// that may have to give up calls try_lock(), or uses a mutex.
///
/// Thread safety: all members may be called concurrently.
/// Ordering: an unlock() happens before the next lock().
/// Initialization: constant.
class spin_mutex {
public:
#if defined(EKIDEN_LOCK_CHECKS) // without, it is trivially destructible
    constexpr spin_mutex() noexcept = default;
    spin_mutex(const spin_mutex&) = delete;
    spin_mutex& operator=(const spin_mutex&) = delete;
    ~spin_mutex() { note_.ended(name, !taken_.load(sys::relaxed)); }
#endif

    /// Locks the mutex. Waits while another thread holds it.
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
    /// Unlocks the mutex. The calling thread must hold it.
    void unlock() noexcept {
        note_.released(sys::hold::alone, name, "unlock", lock_checks && !taken_.load(sys::relaxed));
        taken_.store(false, sys::release); // [SM1] release
    }

private:
    static constexpr const char* name = "a spin_mutex";

    bool take_now() noexcept {
        // [SM1] acquire; pairs with the release in unlock().
        return !taken_.load(sys::relaxed) && !taken_.exchange(true, sys::acquire);
    }
    void lock_slow() noexcept;

    sys::atomic<bool> taken_{false};
    [[no_unique_address]] detail::lock_note note_;
};

} // namespace ekiden::inline EKIDEN_ABI
