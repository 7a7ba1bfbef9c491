/// A flag that threads can wait for.
///
/// Part: sync. Used by: users; latch.
#pragma once

#include <ekiden/sync/state_lock.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Stays set until it is reset (a manual-reset event). Thread-safe; may be destroyed by whoever has seen it
/// set. What happens before set() happens before the return of the waits that it ends. Ready before any
/// constructor runs if it has static storage.
class event {
public:
    constexpr explicit event(bool set = false) noexcept : event(set, rules) {}

    /// Ends all waits, by one system call.
    void set() noexcept { change(1); }
    void reset() noexcept { change(0); }
    [[nodiscard]] bool is_set() const noexcept { return lock_.is_in(is_one); }

    /// Returns when it is set: at once, or at the next set().
    void wait() const noexcept { lock_.pass(is_one); }
    /// False if `limit` was reached first: a time, or a stop request.
    [[nodiscard]] bool wait(const wait_limit& limit) const noexcept { return lock_.pass(is_one, limit); }

    /// The lock inside, for waits that are not a thread's: start() with mask `is_one` and a transition that
    /// returns its argument.
    [[nodiscard]] state_lock& core() const noexcept { return lock_; }
    static constexpr state_lock::mask is_one = 2;

private:
    friend class latch;
    static constexpr state_rules rules{.name = "an event"};

    constexpr event(bool set, const state_rules& own_rules) noexcept : lock_({set ? 1U : 0U, 0}, own_rules) {}

    void change(std::uint32_t to) noexcept {
        lock_.apply(state_lock::any_state, [to](state_value) noexcept { return state_value{to, 0}; });
    }

    mutable state_lock lock_;
};

} // namespace ekiden::inline EKIDEN_ABI
