/// A countdown that threads wait for, once.
///
/// Part: sync. Used by: users. Like std::latch. Its waits can have a limit, and need not block a thread.
#pragma once

#include <ekiden/sync/event.hpp>
#include <ekiden/sys/contract.hpp>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

namespace ekiden::inline EKIDEN_ABI {

/// A counter that threads count down to 0, once, and wait for.
///
/// Like std::latch. Thread safety: all members may be called concurrently. A thread that has returned from a
/// wait may destroy it.
/// Ordering: a count_down() happens before the return of every wait.
/// Initialization: constant.
class latch {
public:
    /// Returns the largest count.
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept {
        return std::numeric_limits<std::ptrdiff_t>::max();
    }

    /// Constructs a latch with the count `expected`. Throws std::invalid_argument if it is negative.
    constexpr explicit latch(std::ptrdiff_t expected) : missing_(expected), done_(expected == 0, rules) {
        if (expected < 0)
            throw std::invalid_argument("latch: expected is " + std::to_string(expected)
                                        + ", allowed is 0 or more");
    }

    /// Subtracts `count` from the counter. `count` is 0 to the counter's value.
    void count_down(std::ptrdiff_t count = 1) noexcept {
        // [LA1] acq_rel: a release for the last one, an acquire in it, so that done_ publishes all.
        const std::ptrdiff_t before = missing_.fetch_sub(count, sys::acq_rel);
        if (count < 0 || before < count)
            sys::contract_broken("latch::count_down: a negative count, or more than is missing");
        // The latch may be destroyed as soon as done_ is set, so this is the last access to it.
        if (before == count && count > 0) done_.set();
    }
    /// Returns whether the counter is 0.
    [[nodiscard]] bool try_wait() const noexcept { return done_.is_set(); }

    /// Waits until the counter is 0.
    void wait() const noexcept { done_.wait(); }
    /// Waits until the counter is 0, or until `limit` is reached. Returns whether the counter is 0.
    [[nodiscard]] bool wait(const wait_limit& limit) const noexcept { return done_.wait(limit); }
    /// Waits until the counter is 0, for `duration` at most. Returns whether the counter is 0.
    [[nodiscard]] bool wait_for(const wait_duration& duration) const { return wait(duration); }
    /// Waits until the counter is 0, until `deadline` at most. Returns whether the counter is 0.
    [[nodiscard]] bool wait_until(const wait_deadline& deadline) const { return wait(deadline); }

    /// Calls count_down(count), then wait().
    void arrive_and_wait(std::ptrdiff_t count = 1) noexcept {
        count_down(count);
        wait();
    }
    /// Calls count_down(), then wait(limit). The arrival counts in any case. Returns whether the counter is
    /// 0.
    [[nodiscard]] bool arrive_and_wait(const wait_limit& limit) noexcept {
        count_down();
        return wait(limit);
    }
    /// Calls count_down(), then wait_for(duration). The arrival counts in any case. Returns whether the
    /// counter is 0.
    [[nodiscard]] bool arrive_and_wait_for(const wait_duration& duration) {
        return arrive_and_wait(duration);
    }
    /// Calls count_down(), then wait_until(deadline). The arrival counts in any case. Returns whether the
    /// counter is 0.
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
