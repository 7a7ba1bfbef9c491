/// A place for one item in a lock-free queue, and the lock of the pushes whose items may throw.
///
/// Part: sync. Used by: slot_ring, segment_queue.
#pragma once

#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The outcome of an attempt to push or pop.
enum class taken_from : std::uint8_t {
    done,
    none,  ///< the queue is full or empty
    closed ///< a push found the queue closed, or a pop found the queue closed and empty
};

/// The lengths of the pauses of a push or pop between two attempts to acquire a position, in calls of
/// sys::spin_hint(). Computed for up to 128 processors.
inline constexpr unsigned shortest_position_pause = 16;
inline constexpr unsigned longest_position_pause = 2048;

/// The lock of a queue whose items may throw when they are moved. The pushes and close() hold this lock.
///
/// A push cannot return a position. So it must construct the item before it acquires the position. The lock
/// keeps the next position, and its slot, for this push.
class push_lock {
public:
    void lock() noexcept {
        if (!EKIDEN_MUTANT(channel_pushes_overlap)) lock_.lock();
    }
    void unlock() noexcept { lock_.unlock(); }

private:
    sys::slow_lock lock_;
};

/// The lock of a queue whose items do not throw. A push first acquires a position, and then constructs the
/// item. So no lock is needed.
struct no_push_lock {
    void lock() noexcept {}
    void unlock() noexcept {}
};

/// A place for one item. One thread at a time may use a slot, and the queue chooses this thread.
template <class T>
class queue_slot {
public:
    static constexpr bool is_nothrow = std::is_nothrow_move_constructible_v<T>;
    using lock_type = std::conditional_t<is_nothrow, no_push_lock, push_lock>;

    queue_slot() noexcept {}
    queue_slot(const queue_slot&) = delete;
    queue_slot& operator=(const queue_slot&) = delete;
    ~queue_slot() {}

    /// Moves `item` into the slot, acquires the position of the slot by `acquire()`, and then calls
    /// `publish()`. Returns false, and has no effect, if `acquire()` returns false. If T may throw, the item
    /// is moved first, and `acquire()` must return true. If T throws, the position is not acquired.
    template <class Acquire, class Publish>
    [[nodiscard]] bool fill(T& item, const Acquire& acquire, const Publish& publish) noexcept(is_nothrow) {
        if constexpr (!is_nothrow) std::construct_at(std::addressof(item_), std::move(item));
        if (!acquire()) return false;
        if constexpr (is_nothrow) std::construct_at(std::addressof(item_), std::move(item));
        publish();
        return true;
    }

    /// Moves the item out of the slot, and then calls `free()`. If the constructor of T throws, destroys the
    /// item, and also calls `free()`.
    template <class Free>
    void empty_into(std::optional<T>& to, const Free& free) noexcept(is_nothrow) {
        const struct emptying {
            queue_slot& from;
            const Free& free;
            ~emptying() {
                from.drop();
                free();
            }
        } end{*this, free};
        to.emplace(std::move(item_));
    }

    /// Destroys the item.
    void drop() noexcept { std::destroy_at(std::addressof(item_)); }

private:
    union {
        T item_;
    };
};

} // namespace ekiden::inline EKIDEN_ABI
