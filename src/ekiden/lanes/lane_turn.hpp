/// A guard that keeps the lanes of several keys for a coroutine.
///
/// Part: lanes. Used by: programs, through async_turn() and spawn_in_turn() of the part async.
#pragma once

#include <ekiden/lanes/detail/turn_record.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A turn of a coroutine. While the turn lasts, no other request that conflicts with it runs. The destructor
/// ends the turn, so the next requests of its lanes can start.
///
/// Any thread may run the destructor. After a turn has been moved from or ended, it has no lanes. Thread
/// safety: only one thread at a time may use a turn. Ordering: everything that is done during the turn
/// happens before the beginning of a later request that conflicts with the turn. Lifetime: a turn may outlive
/// the lanes, but must end before the inner context is destroyed. A turn is outstanding work of the inner
/// context, so join() of a pool waits until the turn ends.
class [[nodiscard("the turn keeps its lanes until the object is destroyed")]] lane_turn {
public:
    /// Constructs a turn without lanes.
    lane_turn() noexcept = default;
    lane_turn(lane_turn&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
    lane_turn& operator=(lane_turn&& other) noexcept {
        if (this != &other) {
            end();
            record_ = std::exchange(other.record_, nullptr);
        }
        return *this;
    }
    ~lane_turn() { end(); }

    /// Returns whether the turn lasts.
    [[nodiscard]] bool has_lanes() const noexcept { return record_ != nullptr && record_->has_lanes(); }
    /// Ends the turn before the object is destroyed. Has no effect if the turn has ended.
    void end() noexcept {
        if (record_ != nullptr) std::exchange(record_, nullptr)->leave();
    }

private:
    friend struct detail::turn_access;
    explicit lane_turn(turn_record& wanted) noexcept : record_(&wanted) {}

    turn_record* record_ = nullptr;
};

} // namespace ekiden::inline EKIDEN_ABI
