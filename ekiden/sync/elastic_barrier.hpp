/// A barrier with a width: threads work between its entry and its exit, and none waits before all have
/// entered.
///
/// Part: sync. Used by: users. Source: the elastic barrier of Ohki and Kuno (its states OPEN and CLOSE),
/// there made of two locks and two counters; here of one lock, with one atomic step for an entry or an exit.
#pragma once

#include <ekiden/sync/state_lock.hpp>
#include <ekiden/sys/contract.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace ekiden::inline EKIDEN_ABI {

/// In each round every participant calls enter() and then leave(). enter() waits only while participants of
/// the round before are still to leave; leave() waits only until all have entered. Work between the two
/// overlaps with the waiting of others. What happens before an enter() happens before every leave() of its
/// round returns; what happens before a leave(), before every enter() of the next round returns. Thread-safe.
class elastic_barrier {
    static constexpr std::uint32_t entering = 0; // the source's OPEN
    static constexpr std::uint32_t leaving = 1;  // the source's CLOSE

    static constexpr state_lock::mask bit(std::uint32_t state) noexcept {
        return state_lock::mask{1} << state;
    }

    // One more has come; the last one of all turns the barrier over to its other state.
    struct count {
        std::uint32_t all;
        std::uint32_t other;

        state_value operator()(state_value now) const noexcept {
            return now.payload > 1 ? state_value{now.state, now.payload - 1} : state_value{other, all};
        }
    };

public:
    /// The largest number of participants: 16,383 on x86-64, 8,191 on other 64-bit systems.
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept { return state_lock::max_payload; }

    /// `participants`, in [1, max()]; otherwise throws std::invalid_argument.
    constexpr explicit elastic_barrier(std::ptrdiff_t participants)
        : lock_({entering, checked(participants)}, rules),
          participants_(static_cast<std::uint32_t>(participants)) {}

    /// Waits until all participants are entering.
    void enter() noexcept {
        lock_.apply(bit(entering), count{participants_, leaving}, conduct::completes_together);
    }
    /// Waits until all participants are leaving.
    void leave() noexcept {
        lock_.apply(bit(leaving), count{participants_, entering}, conduct::completes_together);
    }

    /// As enter and leave, unless `limit` is reached first: then false, and nothing has been counted.
    [[nodiscard]] bool enter(const wait_limit& limit) noexcept {
        return lock_.apply(bit(entering), count{participants_, leaving}, conduct::completes_together, limit);
    }
    /// The same of leave.
    [[nodiscard]] bool leave(const wait_limit& limit) noexcept {
        return lock_.apply(bit(leaving), count{participants_, entering}, conduct::completes_together, limit);
    }

private:
    static constexpr state_rules rules{.name = "an elastic_barrier"};

    static constexpr std::uint32_t checked(std::ptrdiff_t participants) {
        if (participants < 1 || participants > max())
            throw std::invalid_argument("elastic_barrier: participants is " + std::to_string(participants)
                                        + ", allowed is 1 to " + std::to_string(max()));
        return static_cast<std::uint32_t>(participants);
    }

    state_lock lock_; // payload: those who are still to enter, or to leave
    const std::uint32_t participants_;
};

} // namespace ekiden::inline EKIDEN_ABI
