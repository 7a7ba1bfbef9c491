/// A countdown that threads wait for, once.
///
/// Part: sync. Used by: users. Like std::latch, with waits that may be timed, stopped, or not a thread's.
#pragma once

#include <ekiden/sync/event.hpp>
#include <ekiden/sys/contract.hpp>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

namespace ekiden::inline EKIDEN_ABI {

/// Thread-safe; may be destroyed by whoever has returned from a wait. What happens before a count_down()
/// happens before the return of the waits. Ready before any constructor runs if it has static storage.
class latch {
public:
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept {
        return std::numeric_limits<std::ptrdiff_t>::max();
    }

    /// Throws std::invalid_argument if `expected` is negative.
    constexpr explicit latch(std::ptrdiff_t expected) : missing_(expected), done_(expected == 0, rules) {
        if (expected < 0)
            throw std::invalid_argument("latch: expected is " + std::to_string(expected)
                                        + ", allowed is 0 or more");
    }

    /// `count` in [0, what is missing].
    void count_down(std::ptrdiff_t count = 1) noexcept {
        // [LA1] acq_rel: a release for the last one, an acquire in it, so that done_ publishes all.
        const std::ptrdiff_t before = missing_.fetch_sub(count, sys::acq_rel);
        if (count < 0 || before < count)
            sys::contract_broken("latch::count_down: a negative count, or more than is missing");
        // The latch may go as soon as done_ is set; nothing of it is touched after that.
        if (before == count && count > 0) done_.set();
    }
    /// Whether nothing is missing any more.
    [[nodiscard]] bool try_wait() const noexcept { return done_.is_set(); }
    /// Returns when nothing is missing any more.
    void wait() const noexcept { done_.wait(); }
    /// False if `limit` was reached first: a time, or a stop request.
    [[nodiscard]] bool wait(const wait_limit& limit) const noexcept { return done_.wait(limit); }
    void arrive_and_wait(std::ptrdiff_t count = 1) noexcept {
        count_down(count);
        wait();
    }

    /// The lock inside, as that of an event.
    [[nodiscard]] state_lock& core() const noexcept { return done_.core(); }

private:
    static constexpr state_rules rules{.name = "a latch"};

    sys::atomic<std::ptrdiff_t> missing_;
    event done_;
};

} // namespace ekiden::inline EKIDEN_ABI
