/// A flag that threads can wait for.
///
/// Part: sync. Used by: users, latch.
#pragma once

#include <ekiden/sync/detail/state_lock.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// A flag that threads and coroutines can wait for. An event stays set until it is reset (a manual-reset
/// event).
///
/// Thread safety: all members may be called concurrently. A thread that has found the event set may destroy
/// the event if no other thread waits.
/// Ordering: a set() happens before the return of every wait that this set() ends.
/// Initialization: constant.
class event {
public:
    /// Constructs the event. The event is initially set if `set` is true.
    constexpr explicit event(bool set = false) noexcept : event(set, rules) {}
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    /// Sets the event and wakes all waiting threads. With fewer than 8 processors, one system call wakes
    /// them. Has no effect if the event is set already.
    void set() noexcept { change(1); }
    /// Resets the event. Later waits block until the next set().
    void reset() noexcept { change(0); }
    /// Returns whether the event is set. After a call has returned true, later calls in the same thread
    /// return true until a reset().
    [[nodiscard]] bool is_set() const noexcept { return lock_.is_in(is_one); }

    /// Waits until the event is set.
    void wait() const noexcept { lock_.pass(is_one); }
    /// Waits until the event is set, or until `limit` is reached. Returns whether the event was set.
    [[nodiscard]] bool wait(const wait_limit& limit) const noexcept { return lock_.pass(is_one, limit); }
    /// Waits until the event is set, but no longer than `duration`. Returns whether the event was set.
    [[nodiscard]] bool wait_for(const wait_duration& duration) const { return wait(duration); }
    /// Waits until the event is set, or until `deadline`. Returns whether the event was set.
    [[nodiscard]] bool wait_until(const wait_deadline& deadline) const { return wait(deadline); }

    /// The mask that contains the state in which the event is set.
    static constexpr state_lock::mask is_one = 2;

private:
    friend class latch;
    friend struct detail::lock_access;
    [[nodiscard]] state_lock& core() const noexcept { return lock_; }

    static constexpr state_rules rules{.name = "an event"};

    constexpr event(bool set, const state_rules& own_rules) noexcept : lock_({set ? 1U : 0U, 0}, own_rules) {}

    void change(std::uint32_t to) noexcept {
        lock_.apply(state_lock::any_state, [to](state_value) noexcept { return state_value{to, 0}; });
    }

    mutable state_lock lock_;
};

} // namespace ekiden::inline EKIDEN_ABI
