/// A barrier with an entry and an exit. Threads work between the entry and the exit. No thread leaves before
/// all threads have entered.
///
/// Part: sync. Used by: users. The design follows the elastic barrier of Ohki and Kuno, which has the states
/// OPEN and CLOSE. The barrier of Ohki and Kuno consists of two locks and two counters. An elastic_barrier
/// consists of one lock, and an entry or an exit is one atomic step.
#pragma once

#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sys/contract.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace ekiden::inline EKIDEN_ABI {

/// A barrier with an entry and an exit. A thread can work between the entry and the exit, instead of waiting
/// for the other threads.
///
/// In each round, every participant calls enter() and then leave(). The call of enter() waits until all
/// participants have left the previous round. The call of leave() waits until all participants have entered
/// the round.
///
/// Thread safety: all members may be called concurrently.
/// Ordering: an enter() happens before the return of every leave() of its round. A leave() happens before the
/// return of every enter() of the next round.
class elastic_barrier {
    static constexpr std::uint32_t entering = 0; // Ohki and Kuno call this state OPEN
    static constexpr std::uint32_t leaving = 1;  // Ohki and Kuno call this state CLOSE

    static constexpr state_lock::mask bit(std::uint32_t state) noexcept {
        return state_lock::mask{1} << state;
    }

    // Counts one more call of enter(), or of leave(). The call of the last participant switches the barrier
    // from one of the two states to the other.
    struct count {
        std::uint32_t all;
        std::uint32_t other;

        state_value operator()(state_value now) const noexcept {
            return now.payload > 1 ? state_value{now.state, now.payload - 1} : state_value{other, all};
        }
    };

public:
    /// Returns the largest number of participants. This number is 16,383 on x86-64, and 8,191 on other 64-bit
    /// systems.
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept { return state_lock::max_payload; }

    /// Constructs a barrier for `participants` threads. Throws std::invalid_argument if `participants` is
    /// less than 1 or greater than max().
    constexpr explicit elastic_barrier(std::ptrdiff_t participants)
        : lock_({entering, checked(participants)}, rules),
          participants_(static_cast<std::uint32_t>(participants)) {}

    /// Enters the next round. Waits until all participants have left the previous round.
    void enter() noexcept {
        lock_.apply(bit(entering), count{participants_, leaving}, conduct::completes_together);
    }
    /// Enters the next round like enter(). Gives up when `limit` is reached. Returns whether the caller has
    /// entered.
    [[nodiscard]] bool enter(const wait_limit& limit) noexcept {
        return lock_.apply(bit(entering), count{participants_, leaving}, conduct::completes_together, limit);
    }
    /// Enters the next round like enter(limit), where the limit is a duration.
    [[nodiscard]] bool enter_for(const wait_duration& duration) { return enter(duration); }
    /// Enters the next round like enter(limit), where the limit is a deadline.
    [[nodiscard]] bool enter_until(const wait_deadline& deadline) { return enter(deadline); }

    /// Leaves the round. Waits until all participants have entered this round.
    void leave() noexcept {
        lock_.apply(bit(leaving), count{participants_, entering}, conduct::completes_together);
    }
    /// Leaves the round like leave(). Gives up when `limit` is reached. Returns whether the caller has left.
    [[nodiscard]] bool leave(const wait_limit& limit) noexcept {
        return lock_.apply(bit(leaving), count{participants_, entering}, conduct::completes_together, limit);
    }
    /// Leaves the round like leave(limit), where the limit is a duration.
    [[nodiscard]] bool leave_for(const wait_duration& duration) { return leave(duration); }
    /// Leaves the round like leave(limit), where the limit is a deadline.
    [[nodiscard]] bool leave_until(const wait_deadline& deadline) { return leave(deadline); }

private:
    static constexpr state_rules rules{.name = "an elastic_barrier"};

    static constexpr std::uint32_t checked(std::ptrdiff_t participants) {
        if (participants < 1 || participants > max())
            throw std::invalid_argument("elastic_barrier: participants is " + std::to_string(participants)
                                        + ", allowed is 1 to " + std::to_string(max()));
        return static_cast<std::uint32_t>(participants);
    }

    state_lock lock_; // the payload is the number of participants that have not entered yet, or not left yet
    const std::uint32_t participants_;
};

} // namespace ekiden::inline EKIDEN_ABI
