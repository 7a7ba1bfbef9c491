/// A mutex of one byte without a list of waiters, for sections well below a microsecond.
///
/// Part: sync. Used by: users. Test-and-test-and-set with exponential back-off (Anderson 1990). The rule:
/// hold it for less than 1 us and with little contention; otherwise use `mutex`.
#pragma once

#include <ekiden/sync/lock_note.hpp>
#include <ekiden/sys/atomic.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Meets Lockable. A waiting thread spins with exponential back-off. It then yields, or sleeps for some 50 us
/// at a time where yields cost time slices, beside busy processes. One byte; ready before any constructor
/// runs if it has static storage. No order among the waiting; a waiter can starve under constant contention.
class spin_mutex {
public:
#if defined(EKIDEN_LOCK_CHECKS) // without, it is trivially destructible
    constexpr spin_mutex() noexcept = default;
    spin_mutex(const spin_mutex&) = delete;
    spin_mutex& operator=(const spin_mutex&) = delete;
    ~spin_mutex() { note_.ended(name, !taken_.load(sys::relaxed)); }
#endif

    void lock() noexcept {
        note_.wanted(name, "lock");
        if (!take_now()) [[unlikely]]
            lock_slow();
        note_.taken(sys::hold::alone, name);
    }
    [[nodiscard]] bool try_lock() noexcept {
        return note_.taken_if(take_now(), sys::hold::alone_tried, name);
    }
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
