/// A place for one thread to sleep. park() waits for a token and consumes it. unpark() leaves a token.
///
/// Part: sys. Used by: fork, loop, sim, sync, timer. Algorithm: a binary semaphore on one futex word, like
/// LockSupport of the Java platform. An unpark() that comes before the park() is not lost.
#pragma once

#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Only one thread may call park(). Any thread may call unpark(). An unpark() synchronizes with the park()
/// that consumes its token. The parker may be destroyed as soon as park() has returned. After unpark() has
/// left the token, unpark() uses only the address of the parker.
class parker {
public:
    /// Waits for a token and consumes it. Does not return spuriously.
    void park() noexcept {
        // Consumes the token if there is one (1 -> 0). If there is no token, announces that this thread is
        // about to sleep (0 -> -1). [PA1] Acquire: sees what the unparking thread has written. Pairs with the
        // release in unpark().
        if (word_.fetch_sub(1, acquire) == token) return;
        for (;;) {
            futex_wait(word_, asleep);
            if (take() || EKIDEN_MUTANT(parker_trusts_the_wake_up)) return;
        }
    }

    /// Waits like park(), but until `deadline` at most. Returns true if the call has consumed the token, and
    /// false if the deadline passed first.
    [[nodiscard]] bool park_until(clock::time_point deadline) noexcept {
        if (word_.fetch_sub(1, acquire) == token) return true;
        for (;;) {
            const bool in_time = futex_wait_until(word_, asleep, deadline);
            if (take()) return true;
            if (in_time) continue;
            // Withdraws the announcement of the sleeper. An unpark() may have come meanwhile. [PA1] Acquire:
            // sees what the unparking thread has written. Pairs with the release in unpark().
            return word_.exchange(empty, acquire) == token && !EKIDEN_MUTANT(parker_drops_a_late_token);
        }
    }

    /// Returns whether park() would return immediately. Only the thread that parks calls this function.
    /// Orders nothing.
    [[nodiscard]] bool has_token() const noexcept { return word_.load(relaxed) == token; }

    /// Leaves a token and wakes the sleeper. Tokens do not accumulate.
    void unpark() noexcept {
        // [PA1] Release: publishes what this thread wrote. Pairs with the acquires in park().
        if (word_.exchange(token, release) == asleep && !EKIDEN_MUTANT(parker_forgets_to_wake))
            futex_wake(word_);
    }

private:
    // The values of word_:
    //  * empty: there is no token, and no thread sleeps. park() sets this value.
    //  * token: there is a token. unpark() sets this value.
    //  * asleep: a thread sleeps. park() sets this value.
    static constexpr std::uint32_t empty = 0;
    static constexpr std::uint32_t token = 1;
    static constexpr std::uint32_t asleep = static_cast<std::uint32_t>(-1);

    bool take() noexcept {
        std::uint32_t expected = token;
        return word_.compare_exchange_strong(expected, empty, acquire, relaxed);
    }

    atomic<std::uint32_t> word_{empty};
};

} // namespace ekiden::inline EKIDEN_ABI::sys
