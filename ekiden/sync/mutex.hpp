/// A mutex for general use: small, fast when free, no starvation when not.
///
/// Part: sync. Used by: users. A state_lock with one state. A running thread may take the free mutex before a
/// woken one does, which keeps the throughput; one that has waited for more than 500 us is handed the mutex.
/// (Eventual fairness: WebKit's WTF::Lock and parking_lot.)
#pragma once

#include <ekiden/sync/state_lock.hpp>
#include <ekiden/sys/lock_annotation.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Meets the standard's TimedMutex: for std::unique_lock, std::scoped_lock, std::condition_variable_any. Not
/// recursive. unlock() of one thread happens before the next lock().
class mutex {
public:
    mutex() noexcept = default;

    void lock() noexcept {
        lock_.enter_only();
        note_.taken(sys::hold::alone);
    }
    /// False if it was locked. Never false without reason.
    [[nodiscard]] bool try_lock() noexcept {
        return sys::taken_if(lock_.try_enter(free), note_, sys::hold::alone_tried);
    }
    void unlock() noexcept {
        note_.released(sys::hold::alone);
        lock_.exit_to({});
    }

    /// False if the time passed first.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
        return sys::taken_if(lock_.enter(free, wait_limit::after(duration)), note_, sys::hold::alone_tried);
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return sys::taken_if(lock_.enter(free, wait_limit::until(deadline)), note_, sys::hold::alone_tried);
    }
    /// False if a stop was requested first.
    [[nodiscard]] bool lock(std::stop_token stop) {
        return sys::taken_if(lock_.enter(free, wait_limit(std::move(stop))), note_, sys::hold::alone_tried);
    }

    /// The lock inside, for waits that are not a thread's: start() with mask `free` and no transition.
    [[nodiscard]] state_lock& core() noexcept { return lock_; }

    static constexpr state_lock::mask free = 1;

private:
    state_lock lock_;
    [[no_unique_address]] sys::lock_annotation note_;
};

} // namespace ekiden::inline EKIDEN_ABI
