/// A barrier with a width: threads work between its entry and its exit, and no thread leaves before all have
/// entered.
///
/// Part: sync. Used by: users. Source: the elastic barrier of Ohki and Kuno, with its states OPEN and CLOSE.
/// Theirs consists of two locks and two counters. This one consists of one lock, and an entry or an exit is
/// one atomic step.
#pragma once

#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sys/contract.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace ekiden::inline EKIDEN_ABI {

/// A barrier with an entry and an exit. Work between the two overlaps with the waiting of other threads.
///
/// In each round, every participant calls enter() and then leave(). enter() waits while participants still
/// have to leave the round before. leave() waits until all have entered.
///
/// Thread safety: all members may be called concurrently.
/// Ordering: an enter() happens before every leave() of its round returns. A leave() happens before every
/// enter() of the next round returns.
class elastic_barrier {
    static constexpr std::uint32_t entering = 0; // the source's OPEN
    static constexpr std::uint32_t leaving = 1;  // the source's CLOSE

    static constexpr state_lock::mask bit(std::uint32_t state) noexcept {
        return state_lock::mask{1} << state;
    }

    // Counts one more call. The last call of all switches the barrier to its other state.
    struct count {
        std::uint32_t all;
        std::uint32_t other;

        state_value operator()(state_value now) const noexcept {
            return now.payload > 1 ? state_value{now.state, now.payload - 1} : state_value{other, all};
        }
    };

public:
    /// Returns the largest number of participants: 16,383 on x86-64, 8,191 on other 64-bit systems.
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept { return state_lock::max_payload; }

    /// Constructs a barrier for `participants` threads. Throws std::invalid_argument unless they are 1 to
    /// max().
    constexpr explicit elastic_barrier(std::ptrdiff_t participants)
        : lock_({entering, checked(participants)}, rules),
          participants_(static_cast<std::uint32_t>(participants)) {}

    /// Enters the round. Waits until all participants have left the round before.
    void enter() noexcept {
        lock_.apply(bit(entering), count{participants_, leaving}, conduct::completes_together);
    }
    /// Calls enter(), unless `limit` is reached first. Returns whether the call was counted.
    [[nodiscard]] bool enter(const wait_limit& limit) noexcept {
        return lock_.apply(bit(entering), count{participants_, leaving}, conduct::completes_together, limit);
    }
    /// Calls enter(), unless `duration` passes first. Returns whether the call was counted.
    [[nodiscard]] bool enter_for(const wait_duration& duration) { return enter(duration); }
    /// Calls enter(), unless `deadline` passes first. Returns whether the call was counted.
    [[nodiscard]] bool enter_until(const wait_deadline& deadline) { return enter(deadline); }

    /// Leaves the round. Waits until all participants have entered it.
    void leave() noexcept {
        lock_.apply(bit(leaving), count{participants_, entering}, conduct::completes_together);
    }
    /// Calls leave(), unless `limit` is reached first. Returns whether the call was counted.
    [[nodiscard]] bool leave(const wait_limit& limit) noexcept {
        return lock_.apply(bit(leaving), count{participants_, entering}, conduct::completes_together, limit);
    }
    /// Calls leave(), unless `duration` passes first. Returns whether the call was counted.
    [[nodiscard]] bool leave_for(const wait_duration& duration) { return leave(duration); }
    /// Calls leave(), unless `deadline` passes first. Returns whether the call was counted.
    [[nodiscard]] bool leave_until(const wait_deadline& deadline) { return leave(deadline); }

private:
    static constexpr state_rules rules{.name = "an elastic_barrier"};

    static constexpr std::uint32_t checked(std::ptrdiff_t participants) {
        if (participants < 1 || participants > max())
            throw std::invalid_argument("elastic_barrier: participants is " + std::to_string(participants)
                                        + ", allowed is 1 to " + std::to_string(max()));
        return static_cast<std::uint32_t>(participants);
    }

    state_lock lock_; // payload: the number of participants that must still enter, or leave
    const std::uint32_t participants_;
};

} // namespace ekiden::inline EKIDEN_ABI
