/// A mutex for general use: small, fast when free, no starvation when not.
///
/// Part: sync. Used by: users. A state_lock with one state. A running thread may take the free mutex before a
/// woken one does, which keeps the throughput; one that has waited for more than 500 us is handed the mutex.
/// (Eventual fairness: WebKit's WTF::Lock and parking_lot.)
#pragma once

#include <ekiden/sync/state_lock.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Meets the standard's TimedMutex: for std::unique_lock, std::scoped_lock, std::condition_variable_any. Not
/// recursive. unlock() of one thread happens before the next lock().
class mutex {
public:
    mutex() noexcept = default;

    void lock() noexcept { lock_.enter_only(); }
    /// False if it was locked. Never false without reason.
    [[nodiscard]] bool try_lock() noexcept { return lock_.try_enter(free); }
    void unlock() noexcept { lock_.exit_to({}); }

    /// False if the time passed first.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
        return lock_.enter(free, wait_limit::after(duration));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return lock_.enter(free, wait_limit::until(deadline));
    }
    /// False if a stop was requested first.
    [[nodiscard]] bool lock(std::stop_token stop) { return lock_.enter(free, wait_limit(std::move(stop))); }

    /// The lock inside, for waits that are not a thread's: start() with mask `free` and no transition.
    [[nodiscard]] state_lock& core() noexcept { return lock_; }

    static constexpr state_lock::mask free = 1;

private:
    state_lock lock_;
};

} // namespace ekiden::inline EKIDEN_ABI
