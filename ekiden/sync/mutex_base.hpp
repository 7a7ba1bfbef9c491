/// What the mutexes on a state_lock have in common.
///
/// Part: sync. Used by: programs, through mutex, fifo_mutex and hybrid_mutex.
#pragma once

#include <ekiden/sync/lock_note.hpp>
#include <ekiden/sync/state_lock.hpp>

#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A state_lock with one state. Meets the standard's TimedMutex: for std::unique_lock, std::scoped_lock,
/// std::condition_variable_any. Not recursive. Thread-safe; unlock() of one thread happens before the next
/// lock(). May be destroyed when nobody holds it or waits for it. One with static storage is ready before any
/// constructor runs. Where lock_checks is set, the program ends with a message at an unlock() by a thread
/// that does not hold it, at a lock() by the thread that does, and at the destruction of a mutex that is
/// held.
class mutex_base {
public:
    /// The mask of the lock's one state.
    static constexpr state_lock::mask free = 1;

    void lock() noexcept {
        note_.wanted(lock_.name(), "lock");
        lock_.enter_only();
        note_.taken(sys::hold::alone, lock_.name());
    }
    /// False if it was locked. Never false without reason.
    [[nodiscard]] bool try_lock() noexcept { return noted(lock_.try_enter(free)); }
    /// By the thread that has locked it.
    void unlock() noexcept {
        note_.released(sys::hold::alone, lock_.name(), "unlock", lock_checks && lock_.passes(free));
        end_hold();
    }

    /// False if the time passed first.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
        return noted(lock_.enter(free, wait_limit::after(duration)));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return noted(lock_.enter(free, wait_limit::until(deadline)));
    }
    /// False if a stop was requested first.
    [[nodiscard]] bool lock(std::stop_token stop) {
        return noted(lock_.enter(free, wait_limit(std::move(stop))));
    }

    /// The lock inside, for waits that are not a thread's: start() with mask `free` and no transition. What
    /// entered through it leaves by end_hold(), in any thread: no thread holds the mutex.
    [[nodiscard]] state_lock& core() noexcept { return lock_; }
    void end_hold() noexcept { lock_.exit_to({}); }

protected:
    // Behind others a thread sleeps at once: one processor with the lock in its cache gets more done than two
    // that take it from each other. Alone, it mostly sees the end of a short section.
    static constexpr state_rules plain{.spins = 12, .first_only = true, .name = "a mutex"};

    /// `rules` must outlive the mutex.
    constexpr explicit mutex_base(const state_rules& rules = plain) noexcept : lock_({}, rules) {}
    ~mutex_base() { note_.ended(lock_.name(), !lock_checks || lock_.passes(free)); }

    state_lock lock_;
    [[no_unique_address]] detail::lock_note note_;

private:
    bool noted(bool is_taken) noexcept {
        return note_.taken_if(is_taken, sys::hold::alone_tried, lock_.name());
    }
};

} // namespace ekiden::inline EKIDEN_ABI
