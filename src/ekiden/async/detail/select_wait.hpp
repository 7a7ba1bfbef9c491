/// The part of select() that does not depend on types. In a select, a coroutine waits for several buffers,
/// and takes one item from one of these buffers.
///
/// Part: async. Used by: select. This header is private. locks.md describes the protocol.
#pragma once

#include <ekiden/async/detail/lock_wait.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sync/detail/waiter.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstdint>
#include <span>

namespace ekiden::inline EKIDEN_ABI {

/// An order in which select() checks its buffers. Most selects begin with the first buffer. After `cap` such
/// selects in a row, one select begins with another buffer, so that no buffer starves. Only one coroutine at
/// a time may use a select_priority. A select_priority must outlive every select that uses it.
class select_priority {
public:
    /// `cap` is the number of selects in a row that begin with the first buffer. Throws std::invalid_argument
    /// if `cap` is 0.
    explicit select_priority(unsigned cap);

    /// Returns the index of the buffer with which the next select begins. `count` is the number of buffers.
    [[nodiscard]] unsigned next(unsigned count) noexcept;

private:
    unsigned cap_;
    unsigned left_;
    unsigned other_ = 0;
};

namespace detail {

class select_wait;

/// One of the buffers of a select, and the waiter of the coroutine in the lock of this buffer.
struct select_branch {
    state_lock* lock;
    state_lock::mask states;
    state_transition change; ///< takes an item; its context argument is the select_branch
    select_wait* owner = nullptr;
    std::uint32_t index = 0;
    sys::cell<bool> is_waiting{false}; ///< true if start() has pushed the waiter [SW2]
    bool has_ended = false;            ///< true if the buffer is closed and empty
    async_waiter waiter{};
    /// Takes an item outside the lock. Returns false if there is none. Null if an item can be taken only
    /// inside the lock.
    bool (*take_now)(select_branch& self) noexcept;

    select_branch(state_lock& l, state_lock::mask s, state_transition c,
                  bool (*t)(select_branch&) noexcept = nullptr) noexcept
        : lock(&l), states(s), change(c), take_now(t) {}
};

/// The base class of the awaiter of select(). The coroutine has a waiter in the lock of each buffer. Each
/// waiter has a transition, which a thread that releases the lock runs. The first transition that runs claims
/// the wait and takes an item, inside the lock of its buffer. The other transitions see the claim and change
/// nothing. In a channel, only the attempt to take an item shows whether there is an item. So the transition
/// of a channel first reserves the wait, and then either confirms or cancels the reservation. The coroutine
/// is posted when no lock contains a waiter of the coroutine, and when no thread uses such a waiter. Two data
/// members ensure that the coroutine is not posted earlier:
///
/// pending_ counts the remaining waiters, and counts the sweep as one more. The sweep is the step that
/// removes the waiters that are still in a lock.
///
/// met_ records two steps. In one step, the thread of the coroutine finishes pushing the waiters. In the
/// other step, a thread claims the wait. The thread of the later step makes the sweep. So every waiter has
/// been pushed before the sweep.
class select_wait : private stop_node, private way_home {
public:
    static constexpr bool comes_home = true;

    select_wait(const select_wait&) = delete;
    select_wait& operator=(const select_wait&) = delete;

    /// Called by the transition of the branch `index`, inside the lock of this branch. Returns true if the
    /// transition must take the item.
    [[nodiscard]] bool claim(std::uint32_t index) noexcept;

    /// Called by the transition of a channel, inside its lock. Returns true if the transition must try to
    /// take an item, and then call confirm() or cancel(). Meanwhile, other calls of claim() and reserve()
    /// wait for a few steps.
    [[nodiscard]] bool reserve() noexcept;
    void confirm(std::uint32_t index) noexcept;
    void cancel() noexcept;

protected:
    using branches = std::span<select_branch* const>;

    select_wait() noexcept : stop_node(&stopped) {}
    ~select_wait() = default; // the derived class must call end() first

    /// Must be called before all other functions. If a stop has been requested, posts the coroutine and
    /// returns false.
    template <class Promise>
    [[nodiscard]] bool begin(std::coroutine_handle<Promise> coroutine) noexcept {
        if (!bind(coroutine)) [[likely]]
            return true;
        winner_.store(by_stop, sys::relaxed);
        home_.resume();
        return false;
    }
    /// Tries each buffer once, beginning with the buffer at the index `first`. Returns true if an item was
    /// taken from a buffer, or if all buffers are closed and empty.
    [[nodiscard]] bool try_now(branches all, std::uint32_t first) noexcept;
    /// Waits like lock_wait::wait().
    [[nodiscard]] bool wait(branches all, std::uint32_t first) noexcept;
    template <class Promise>
    [[nodiscard]] bool go_on(std::coroutine_handle<Promise> coroutine) noexcept {
        return gives_way(coroutine);
    }

    /// Returns the index of the branch from which an item was taken. If no item was taken, returns all_ended
    /// or by_stop. Called when the coroutine has resumed.
    [[nodiscard]] std::uint32_t collect() noexcept {
        if (is_waiting_) (void)disarm();
        is_waiting_ = false;
        return winner_.load(sys::relaxed);
    }
    /// Returns `stopped` or `timed_out`. Called for a wait that a stop request has ended.
    using way_home::why_stopped;
    static constexpr std::uint32_t unclaimed = ~std::uint32_t{0};
    static constexpr std::uint32_t by_stop = unclaimed - 1;
    static constexpr std::uint32_t all_ended = unclaimed - 2;
    static constexpr std::uint32_t by_end = unclaimed - 3;
    static constexpr std::uint32_t reserved = unclaimed - 4;

    /// If the coroutine is waiting, removes its waiters from the locks. Called by the destructor of the
    /// awaiter.
    void end() noexcept {
        if (is_waiting_) [[unlikely]]
            leave_queues();
    }

    /// Returns the index of the buffer with which a select without a select_priority begins. The index
    /// changes from call to call in the same thread.
    [[nodiscard]] static std::uint32_t rotated(std::uint32_t count) noexcept;

private:
    static void served(waiter& who) noexcept;
    static void stopped(stop_node& self) noexcept;
    [[nodiscard]] bool replace_unclaimed(std::uint32_t by) noexcept;
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
    sys::atomic<std::uint32_t> open_{0}; // number of buffers that are open or contain items
    sys::atomic<std::uint8_t> met_{0};
    bool is_waiting_ = false; // true from wait() until the coroutine has resumed
};

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
