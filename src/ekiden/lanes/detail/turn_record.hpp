/// The state of a turn: the place of a coroutine in the lanes of its keys.
///
/// Part: lanes. Used by: lane_request, lane_turn, and the part async. The page execution/detail/strand.md
/// explains the protocol.
#pragma once

#include <ekiden/sync/event.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstdint>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

class lanes_state;
class turn_record;
struct lane_request;
namespace detail {
struct turn_access; // see async/async_turn.hpp
}

/// Says which turns a coroutine has. A coroutine passes its mark to the coroutines that it awaits. A mark
/// keeps the memory of the turns, but not the lanes. A mark is a pointer to a list that is never changed, so
/// that several coroutines can share the list.
class turn_mark {
public:
    turn_mark() noexcept = default;
    turn_mark(const turn_mark& other) noexcept;
    turn_mark(turn_mark&& other) noexcept : newest_(std::exchange(other.newest_, nullptr)) {}
    turn_mark& operator=(turn_mark other) noexcept {
        std::swap(newest_, other.newest_);
        return *this;
    }
    ~turn_mark() {
        if (newest_ != nullptr) drop(newest_);
    }

    /// Returns false if the coroutine has never had a turn.
    [[nodiscard]] explicit operator bool() const noexcept { return newest_ != nullptr; }
    /// Returns whether the coroutine has a turn in lanes of `all`. If `all` is null, returns whether the
    /// coroutine has a turn in any lanes.
    [[nodiscard]] bool has_turn(const void* all) const noexcept;
    /// Returns a mark with the turn `wanted` and the turns of this mark that last. Throws std::bad_alloc.
    [[nodiscard]] turn_mark with(turn_record& wanted) const;

private:
    struct node;
    static void drop(node* newest) noexcept;

    node* newest_ = nullptr;
};

/// The state of a turn. The record is a part of the request of the turn, and has several owners: the guard of
/// the turn, the lanes while the request waits, and the marks of coroutines.
///
/// Thread safety: the owner of the guard calls enqueue() and leave(). The lanes call begin() and drop().
class turn_record {
public:
    explicit turn_record(lanes_state& of) noexcept;
    turn_record(const turn_record&) = delete;
    turn_record& operator=(const turn_record&) = delete;

    // ---- called by the owner of the guard

    /// Adds the request to the lanes of its keys. If the lanes refuse the request, drop() has been called. If
    /// `may_wait` is true, the call waits for room, like a post. Throws like a post.
    void enqueue(bool may_wait);
    /// Waits for this event are ended when the turn has begun, or when the lanes have dropped the request.
    [[nodiscard]] const event& decided() const noexcept { return decided_; }
    [[nodiscard]] bool is_dropped() const noexcept { return phase_.load(sys::relaxed) == phase::dropped; }
    /// Ends the turn. If the turn has not begun, withdraws the request. The caller must not access the record
    /// afterwards.
    void leave() noexcept;

    /// Returns whether the turn has begun and has not ended. Any owner may call this function.
    [[nodiscard]] bool has_lanes() const noexcept { return phase_.load(sys::relaxed) == phase::begun; }
    [[nodiscard]] const void* lanes() const noexcept { return &all_; }

    // ---- called by the lanes

    /// Begins the turn, and drops the ownership of the lanes. Returns false without an effect if the request
    /// has been withdrawn.
    [[nodiscard]] bool begin() noexcept;
    /// Records that the request was dropped, because a lane was full or closed, or because the inner context
    /// has stopped. Has no effect if the request has been withdrawn.
    void drop() noexcept;
    [[nodiscard]] bool is_last_owner() noexcept {
        // [LN4] acq_rel. Release: publishes what was done with the record. Acquire: the last owner sees what
        // all other owners have done.
        return owners_.fetch_sub(1, sys::acq_rel) == 1;
    }

    /// Sets the request that contains the record, and adds a handle of the lanes. leave() drops the handle.
    /// Called once, before all other functions. The constructor adds no handle, because the construction of
    /// the request may still throw.
    void belongs_to(lane_request& whole) noexcept;
    void add_owner() noexcept { owners_.fetch_add(1, sys::relaxed); }
    void drop_owner() noexcept;

private:
    /// Ends the waits for decided().
    void decide() noexcept;

    /// The states of a turn:
    /// * `waiting`: the coroutine wants the turn. This is the initial state.
    /// * `begun`: the turn has begun. The lanes set this value.
    /// * `dropped`: the lanes have refused or abandoned the request. The lanes set this value.
    /// * `left`: the owner of the guard has ended the turn, or has withdrawn the request.
    enum class phase : std::uint8_t { waiting, begun, dropped, left };

    lanes_state& all_;
    lane_request* request_ = nullptr;
    event decided_;
    sys::atomic<std::uint32_t> owners_{1};
    sys::atomic<phase> phase_{phase::waiting};
    bool is_enqueued_ = false; // used only by the owner of the guard
};

} // namespace ekiden::inline EKIDEN_ABI
