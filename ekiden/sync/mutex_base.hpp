/// What the mutexes on a state_lock have in common.
///
/// Part: sync. Used by: mutex, fifo_mutex, hybrid_mutex.
#pragma once

#include <ekiden/sync/state_lock.hpp>
#include <ekiden/sys/lock_annotation.hpp>

#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A state_lock with one state. Meets the standard's TimedMutex: for std::unique_lock, std::scoped_lock,
/// std::condition_variable_any. Not recursive. Thread-safe; unlock() of one thread happens before the next
/// lock(). May be destroyed when nobody holds it or waits for it.
class mutex_base {
public:
    /// The mask of the lock's one state.
    static constexpr state_lock::mask free = 1;

    void lock() noexcept {
        lock_.enter_only();
        note_.taken(sys::hold::alone);
    }
    /// False if it was locked. Never false without reason.
    [[nodiscard]] bool try_lock() noexcept {
        return sys::taken_if(lock_.try_enter(free), note_, sys::hold::alone_tried);
    }
    /// By the thread that has locked it.
    void unlock() noexcept {
        note_.released(sys::hold::alone);
        lock_.exit_to({});
    }

    /// False if the time passed first.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
        return taken_within(wait_limit::after(duration));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return taken_within(wait_limit::until(deadline));
    }
    /// False if a stop was requested first.
    [[nodiscard]] bool lock(std::stop_token stop) { return taken_within(wait_limit(std::move(stop))); }

    /// The lock inside, for waits that are not a thread's: start() with mask `free` and no transition.
    [[nodiscard]] state_lock& core() noexcept { return lock_; }

protected:
    /// `rules` must outlive the mutex.
    explicit mutex_base(const state_rules& rules = state_lock::overtaking) noexcept : lock_({}, rules) {}
    ~mutex_base() = default;

    state_lock lock_;
    [[no_unique_address]] sys::lock_annotation note_;

private:
    [[nodiscard]] bool taken_within(const wait_limit& limit) noexcept {
        return sys::taken_if(lock_.enter(free, limit), note_, sys::hold::alone_tried);
    }
};

} // namespace ekiden::inline EKIDEN_ABI
