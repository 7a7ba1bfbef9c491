/// A coroutine's wait on several buffers at once, of which one gives it an item: without the types.
///
/// Part: async. Used by: select. Private. The protocol is ours; what it claims: locks.md.
#pragma once

#include <ekiden/async/detail/lock_wait.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sync/detail/waiter.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstdint>
#include <span>

namespace ekiden::inline EKIDEN_ABI {

/// Looks at the buffers in the order given, instead of beginning with another one each time. After `cap` such
/// looks one begins with another buffer, so that each has its turn. Lies in the coroutine that selects, for
/// as long as it does; one coroutine at a time.
class select_priority {
public:
    /// `cap` looks in a row, at least 1. Throws std::invalid_argument for 0.
    explicit select_priority(unsigned cap);

    /// Where the next look begins, among `count`.
    [[nodiscard]] unsigned next(unsigned count) noexcept;

private:
    unsigned cap_;
    unsigned left_;
    unsigned other_ = 0;
};

namespace detail {

class select_wait;

/// One of the buffers, and the coroutine's waiter there.
struct select_branch {
    state_lock* lock;
    state_lock::mask states;
    state_transition change; ///< with the branch as its context
    select_wait* owner = nullptr;
    std::uint32_t index = 0;
    sys::cell<bool> is_waiting{false}; ///< start() has left the waiter in the lock's hands [SW2]
    bool has_ended = false;            ///< the buffer is closed and empty
    async_waiter waiter{};

    select_branch(state_lock& l, state_lock::mask s, state_transition c) noexcept
        : lock(&l), states(s), change(c) {}
};

/// The base of the awaiter. A waiter lies in each buffer's lock. The first transition that is run claims the
/// wait and takes an item, in one step of its lock; those of the others find it claimed and leave everything
/// as it is. The coroutine is posted when no lock has a waiter of it any more, and nobody is at work on one:
///
/// * pending_ counts the waiters, and one for the sweep that takes the rest out;
/// * the sweep is made by the second of two who meet in met_: the coroutine, when it has put all waiters into
///   their locks, and whoever has claimed. So every waiter that the sweep looks for is there or has been
///   served.
class select_wait : private stop_node, private way_home {
public:
    static constexpr bool comes_home = true;

    select_wait(const select_wait&) = delete;
    select_wait& operator=(const select_wait&) = delete;

    /// In a transition, inside the lock of branch `index`. True: the item is to be taken.
    [[nodiscard]] bool claim(std::uint32_t index) noexcept;

protected:
    using branches = std::span<select_branch* const>;

    select_wait() noexcept : stop_node(&stopped) {}
    ~select_wait() = default; // after end()

    /// First of all. False: a stop had been requested, and the coroutine is on its way home.
    template <class Promise>
    [[nodiscard]] bool begin(std::coroutine_handle<Promise> coroutine) noexcept {
        if (!bind(coroutine)) [[likely]]
            return true;
        winner_.store(by_stop, sys::relaxed);
        home_.resume();
        return false;
    }
    /// Looks at each, beginning with `first`. True: one of them gave an item, or all have ended.
    [[nodiscard]] bool try_now(branches all, std::uint32_t first) noexcept;
    /// As lock_wait::wait().
    [[nodiscard]] bool wait(branches all, std::uint32_t first) noexcept;
    template <class Promise>
    [[nodiscard]] bool go_on(std::coroutine_handle<Promise> coroutine) noexcept {
        return gives_way(coroutine);
    }

    /// When the coroutine has come home: the branch that gave an item, or all_ended, or by_stop.
    [[nodiscard]] std::uint32_t collect() noexcept {
        if (is_waiting_) (void)disarm();
        is_waiting_ = false;
        return winner_.load(sys::relaxed);
    }
    /// Returns why a wait that a stop has ended has no item.
    using way_home::why_stopped;
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};
    static constexpr std::uint32_t by_stop = nobody - 1;
    static constexpr std::uint32_t all_ended = nobody - 2;
    static constexpr std::uint32_t by_end = nobody - 3;

    /// In the destructor of the awaiter: takes the waiters out, if it waits.
    void end() noexcept {
        if (is_waiting_) [[unlikely]]
            leave_queues();
    }

    /// Where a look without priorities begins: another one each time.
    [[nodiscard]] static std::uint32_t rotated(std::uint32_t count) noexcept;

private:
    static void served(waiter& who) noexcept;
    static void stopped(stop_node& self) noexcept;
    [[nodiscard]] bool meet(std::uint8_t one) noexcept;
    [[nodiscard]] std::uint32_t sweep() noexcept;
    [[nodiscard]] bool settle(std::uint32_t count) noexcept;
    void decided(std::uint32_t own) noexcept;
    void leave_queues() noexcept;

    static constexpr std::uint8_t is_published = 1;
    static constexpr std::uint8_t is_claimed = 2;

    branches all_{};
    sys::atomic<std::uint32_t> winner_{nobody};
    sys::atomic<std::uint32_t> pending_{0};
    sys::atomic<std::uint32_t> open_{0}; // buffers that have not ended
    sys::atomic<std::uint8_t> met_{0};
    bool is_waiting_ = false; // the coroutine's: from wait() until it has come home
};

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
