/// A counter that threads count down to 0. Other threads wait until the counter is 0.
///
/// Part: sync. Used by: users.
#pragma once

#include <ekiden/sync/event.hpp>
#include <ekiden/sys/contract.hpp>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

namespace ekiden::inline EKIDEN_ABI {

/// A counter that threads count down to 0. Other threads wait until the counter is 0. A latch is not
/// reusable.
///
/// A latch has the operations of std::latch. In addition, a wait for a latch can have a limit, and a
/// coroutine can wait without blocking a thread.
///
/// Thread safety: all members may be called concurrently. A thread that has returned from a wait may destroy
/// the latch if no other thread waits.
/// Ordering: a count_down() happens before the return of every wait.
/// Initialization: constant.
class latch {
public:
    /// Returns the largest count.
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept {
        return std::numeric_limits<std::ptrdiff_t>::max();
    }

    /// Constructs a latch whose counter is `expected`. Throws std::invalid_argument if `expected` is
    /// negative.
    constexpr explicit latch(std::ptrdiff_t expected) : missing_(expected), done_(expected == 0, rules) {
        if (expected < 0)
            throw std::invalid_argument("latch: expected is " + std::to_string(expected)
                                        + ", allowed is 0 or more");
    }

    /// Subtracts `count` from the counter. `count` must not be negative, and must not be greater than the
    /// counter.
    void count_down(std::ptrdiff_t count = 1) noexcept {
        // [LA1] acq_rel: the last call of count_down() acquires what the earlier calls have released. So the
        // event done_ publishes the work that precedes each call of count_down().
        const std::ptrdiff_t before = missing_.fetch_sub(count, sys::acq_rel);
        if (count < 0 || before < count)
            sys::contract_broken("latch::count_down: a negative count, or more than is missing");
        // The latch may be destroyed as soon as done_ is set. So the call below is the last access to the
        // latch.
        if (before == count && count > 0) done_.set();
    }
    /// Returns whether the counter is 0.
    [[nodiscard]] bool try_wait() const noexcept { return done_.is_set(); }

    /// Waits until the counter is 0.
    void wait() const noexcept { done_.wait(); }
    /// Waits until the counter is 0, or until `limit` is reached. Returns whether the counter is 0.
    [[nodiscard]] bool wait(const wait_limit& limit) const noexcept { return done_.wait(limit); }
    /// Waits until the counter is 0, but no longer than `duration`. Returns whether the counter is 0.
    [[nodiscard]] bool wait_for(const wait_duration& duration) const { return wait(duration); }
    /// Waits until the counter is 0, or until `deadline`. Returns whether the counter is 0.
    [[nodiscard]] bool wait_until(const wait_deadline& deadline) const { return wait(deadline); }

    /// Calls count_down(count), then wait().
    void arrive_and_wait(std::ptrdiff_t count = 1) noexcept {
        count_down(count);
        wait();
    }
    /// Calls count_down(), then wait(limit). Returns whether the counter is 0. The counter is reduced even if
    /// the result is false.
    [[nodiscard]] bool arrive_and_wait(const wait_limit& limit) noexcept {
        count_down();
        return wait(limit);
    }
    /// Calls count_down(), then wait_for(duration). Returns whether the counter is 0. The counter is reduced
    /// even if the result is false.
    [[nodiscard]] bool arrive_and_wait_for(const wait_duration& duration) {
        return arrive_and_wait(duration);
    }
    /// Calls count_down(), then wait_until(deadline). Returns whether the counter is 0. The counter is
    /// reduced even if the result is false.
    [[nodiscard]] bool arrive_and_wait_until(const wait_deadline& deadline) {
        return arrive_and_wait(deadline);
    }

private:
    friend struct detail::lock_access;
    [[nodiscard]] state_lock& core() const noexcept { return done_.core(); }

    static constexpr state_rules rules{.name = "a latch"};

    sys::atomic<std::ptrdiff_t> missing_;
    event done_;
};

} // namespace ekiden::inline EKIDEN_ABI
