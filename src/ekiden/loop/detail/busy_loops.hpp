/// How many loops of a pool have something to do.
///
/// Part: loop. Used by: solo_loop, loop_pool. Private. The protocol and its proof: loop.md.
#pragma once

#include <ekiden/execution/detail/limited_sleep.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The loops of a pool that are busy, and steps under way that may make one busy. Thread-safe. One thread at
/// a time calls await_none().
class busy_loops {
public:
    busy_loops() = default;
    busy_loops(const busy_loops&) = delete;
    busy_loops& operator=(const busy_loops&) = delete;

    void add() noexcept { word_.fetch_add(1, sys::relaxed); }

    /// The object may be gone afterwards.
    void remove() noexcept {
        // [LQ1] release: what was done on behalf of the loop; pairs with the acquires in await_none(). Only
        // the word's address is used for the wake-up.
        if (word_.fetch_sub(1, sys::release) == (awaited | 1)) sys::futex_wake_all(word_);
    }

    /// Returns true when no loop is busy; false if `limit` is reached before that.
    [[nodiscard]] bool await_none(const wait_limit& limit) noexcept {
        const limited_sleep asleep(limit, [this]() noexcept {
            // [LS1] release; pairs with the acquires below. The sleeper has set the bit on which it sleeps.
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
