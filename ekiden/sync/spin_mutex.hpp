/// A mutex that never sleeps, for sections well below a microsecond.
///
/// Part: sync. Used by: users. Test-and-test-and-set with exponential back-off (Anderson 1990). The rule:
/// hold it for less than 1 us and with little contention; otherwise use `mutex`.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock_annotation.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Meets Lockable. One byte. No order among the waiting; a waiter can starve under constant contention.
class spin_mutex {
public:
    void lock() noexcept {
        if (!take_now()) [[unlikely]]
            lock_slow();
        note_.taken(sys::hold::alone);
    }
    [[nodiscard]] bool try_lock() noexcept {
        return sys::taken_if(take_now(), note_, sys::hold::alone_tried);
    }
    void unlock() noexcept {
        note_.released(sys::hold::alone);
        taken_.store(false, sys::release); // [S1] release
    }

private:
    bool take_now() noexcept {
        // [S1] acquire; pairs with the release in unlock().
        return !taken_.load(sys::relaxed) && !taken_.exchange(true, sys::acquire);
    }
    void lock_slow() noexcept;

    sys::atomic<bool> taken_{false};
    [[no_unique_address]] sys::lock_annotation note_;
};

} // namespace ekiden::inline EKIDEN_ABI
