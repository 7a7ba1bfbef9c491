/// The part of select() that does not depend on types: a coroutine waits for several buffers, and gets an
/// item of one.
///
/// Part: async. Used by: select. Private. The protocol: locks.md.
#pragma once

#include <ekiden/async/detail/lock_wait.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sync/detail/waiter.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstdint>
#include <span>

namespace ekiden::inline EKIDEN_ABI {

/// The order of select(): check the buffers in the given order. After `cap` selects, one begins with another
/// buffer, so that no buffer starves. One coroutine at a time may use it. It must outlive the select.
class select_priority {
public:
    /// `cap` is the number of selects in a row that begin with the first buffer. Throws std::invalid_argument
    /// for 0.
    explicit select_priority(unsigned cap);

    /// Returns the buffer, among `count`, with which the next select begins.
    [[nodiscard]] unsigned next(unsigned count) noexcept;

private:
    unsigned cap_;
    unsigned left_;
    unsigned other_ = 0;
};

namespace detail {

class select_wait;

/// One of the buffers, and the waiter of the coroutine there.
struct select_branch {
    state_lock* lock;
    state_lock::mask states;
    state_transition change; ///< its context is the branch
    select_wait* owner = nullptr;
    std::uint32_t index = 0;
    sys::cell<bool> is_waiting{false}; ///< start() has pushed the waiter into the lock [SW2]
    bool has_ended = false;            ///< the buffer is closed and empty
    async_waiter waiter{};

    select_branch(state_lock& l, state_lock::mask s, state_transition c) noexcept
        : lock(&l), states(s), change(c) {}
};

/// The base of the awaiter. A waiter lies in the lock of each buffer. The first transition that runs claims
/// the wait and takes an item, inside its lock. The other transitions find the wait claimed and change
/// nothing. The coroutine is posted when no lock has a waiter any more, and no thread works on one:
///
/// * pending_ counts the waiters, and one for the sweep, which takes the other waiters out.
/// * Two threads meet in met_: the coroutine's thread, when it has pushed all waiters, and the thread that
/// has claimed.
///   The second one makes the sweep. So every waiter has been pushed before the sweep.
class select_wait : private stop_node, private way_home {
public:
    static constexpr bool comes_home = true;

    select_wait(const select_wait&) = delete;
    select_wait& operator=(const select_wait&) = delete;

    /// Called in the transition of branch `index`, inside its lock. Returns true if the transition takes the
    /// item.
    [[nodiscard]] bool claim(std::uint32_t index) noexcept;

protected:
    using branches = std::span<select_branch* const>;

    select_wait() noexcept : stop_node(&stopped) {}
    ~select_wait() = default; // after end()

    /// Called first. Returns false if a stop has been requested. Then the coroutine has been posted.
    template <class Promise>
    [[nodiscard]] bool begin(std::coroutine_handle<Promise> coroutine) noexcept {
        if (!bind(coroutine)) [[likely]]
            return true;
        winner_.store(by_stop, sys::relaxed);
        home_.resume();
        return false;
    }
    /// Tries each buffer once, beginning with `first`. Returns true if one gave an item, or if all have
    /// ended.
    [[nodiscard]] bool try_now(branches all, std::uint32_t first) noexcept;
    /// Waits like lock_wait::wait().
    [[nodiscard]] bool wait(branches all, std::uint32_t first) noexcept;
    template <class Promise>
    [[nodiscard]] bool go_on(std::coroutine_handle<Promise> coroutine) noexcept {
        return gives_way(coroutine);
    }

    /// Returns the branch that gave an item, or all_ended, or by_stop. Called when the coroutine has resumed.
    [[nodiscard]] std::uint32_t collect() noexcept {
        if (is_waiting_) (void)disarm();
        is_waiting_ = false;
        return winner_.load(sys::relaxed);
    }
    /// Returns why a wait that a stop has ended has no item.
    using way_home::why_stopped;
    static constexpr std::uint32_t unclaimed = ~std::uint32_t{0};
    static constexpr std::uint32_t by_stop = unclaimed - 1;
    static constexpr std::uint32_t all_ended = unclaimed - 2;
    static constexpr std::uint32_t by_end = unclaimed - 3;

    /// Takes the waiters out if the coroutine waits. Called in the destructor of the awaiter.
    void end() noexcept {
        if (is_waiting_) [[unlikely]]
            leave_queues();
    }

    /// Returns the buffer with which a select without a select_priority begins: another one with each call.
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
    sys::atomic<std::uint32_t> winner_{unclaimed};
    sys::atomic<std::uint32_t> pending_{0};
    sys::atomic<std::uint32_t> open_{0}; // buffers that have not ended
    sys::atomic<std::uint8_t> met_{0};
    bool is_waiting_ = false; // used by the coroutine: true from wait() until it has resumed
};

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
