/// Counts the loops of a pool that have something to do.
///
/// Part: loop. Used by: solo_loop, and loop_pool. Private. The page loop.md explains and proves the protocol.
#pragma once

#include <ekiden/execution/detail/limited_sleep.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Counts the busy loops of a pool. Also counts each step in progress that may make a loop busy. The class is
/// thread-safe, except that only one thread at a time may call await_none().
class busy_loops {
public:
    busy_loops() = default;
    busy_loops(const busy_loops&) = delete;
    busy_loops& operator=(const busy_loops&) = delete;

    void add() noexcept { word_.fetch_add(1, sys::relaxed); }

    /// Decrements the count. The object may be destroyed as soon as the count is zero.
    void remove() noexcept {
        // [LQ1] Release: publishes what the loop has done. Pairs with the acquire in await_none(). The
        // wake-up uses only the address of the word.
        if (word_.fetch_sub(1, sys::release) == (awaited | 1)) sys::futex_wake_all(word_);
    }

    /// Waits until no loop is busy. Returns false if `limit` is reached first.
    [[nodiscard]] bool await_none(const wait_limit& limit) noexcept {
        const limited_sleep asleep(limit, [this]() noexcept {
            // [LS1] Release: publishes the stop request. Pairs with the acquire below. Clearing the bit
            // changes the word, so the waiting thread does not sleep any more.
            if (!EKIDEN_MUTANT(loops_stop_request_keeps_the_bit)) word_.fetch_and(~awaited, sys::release);
            sys::futex_wake_all(word_);
        });
        for (;;) {
            const std::uint32_t now = word_.fetch_or(awaited, sys::acquire) | awaited; // [LQ1] [LS1]
            const bool is_none = now == awaited;
            if (is_none || asleep.is_over()) {
                word_.fetch_and(~awaited, sys::relaxed);
                return is_none;
            }
            asleep.sleep(word_, now);
        }
    }

private:
    static constexpr std::uint32_t awaited = std::uint32_t{1} << 31; // a thread is in await_none()

    sys::atomic<std::uint32_t> word_{0};
};

} // namespace ekiden::inline EKIDEN_ABI
