/// A mutex that spins for a moment before it sleeps.
///
/// Part: sync. Used by: users whose sections are about as long as a wake-up (a few microseconds). A
/// state_lock that looks again a settable number of times; `mutex` is the one that never does.
#pragma once

#include <ekiden/sync/state_lock.hpp>
#include <ekiden/sys/lock_annotation.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Meets TimedMutex. See mutex for the order in which it is taken.
class hybrid_mutex {
public:
    /// `spins`: how often a waiting thread looks again, with a pause hint in between, before it sleeps.
    explicit hybrid_mutex(std::uint16_t spins = 100) noexcept : rules_{.spins = spins} {}

    void lock() noexcept {
        lock_.enter_only();
        note_.taken(sys::hold::alone);
    }
    [[nodiscard]] bool try_lock() noexcept {
        return sys::taken_if(lock_.try_enter(1), note_, sys::hold::alone_tried);
    }
    void unlock() noexcept {
        note_.released(sys::hold::alone);
        lock_.exit_to({});
    }

    /// False if the time passed first.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
        return sys::taken_if(lock_.enter(1, wait_limit::after(duration)), note_, sys::hold::alone_tried);
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return sys::taken_if(lock_.enter(1, wait_limit::until(deadline)), note_, sys::hold::alone_tried);
    }

private:
    const state_rules rules_;
    state_lock lock_{{}, rules_};
    [[no_unique_address]] sys::lock_annotation note_;
};

} // namespace ekiden::inline EKIDEN_ABI
