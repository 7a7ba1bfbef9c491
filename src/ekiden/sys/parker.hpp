/// One thread's place to sleep: a token that park() waits for and takes, and unpark() leaves.
///
/// Part: sys. Used by: sync, pool, future. Algorithm: a binary semaphore on one futex word, as in the Java
/// platform's LockSupport; an unpark before the park is not lost.
#pragma once

#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// One thread parks; any thread unparks. unpark() is a release that the park() it ends acquires. The parker
/// may be destroyed as soon as its park() has returned: unpark() touches nothing but the address after it has
/// left the token.
class parker {
public:
    /// Waits for a token and takes it. Does not return spuriously.
    void park() noexcept {
        // Either the token is here (1 -> 0), or this announces the sleeper (0 -> -1).
        // [PA1] acquire; pairs with the release in unpark().
        if (word_.fetch_sub(1, acquire) == token) return;
        for (;;) {
            futex_wait(word_, asleep);
            if (take() || EKIDEN_MUTANT(parker_trusts_the_wake_up)) return;
        }
    }

    /// As park(), until `deadline`. True with the token, false if the deadline passed first.
    [[nodiscard]] bool park_until(clock::time_point deadline) noexcept {
        if (word_.fetch_sub(1, acquire) == token) return true;
        for (;;) {
            const bool in_time = futex_wait_until(word_, asleep, deadline);
            if (take()) return true;
            if (in_time) continue;
            // Withdraw; an unpark may have come at the last moment. [PA1] acquire as above.
            return word_.exchange(empty, acquire) == token && !EKIDEN_MUTANT(parker_drops_a_late_token);
        }
    }

    /// Whether park() would return at once. Orders nothing. For the thread that parks.
    [[nodiscard]] bool has_token() const noexcept { return word_.load(relaxed) == token; }

    /// Leaves a token and wakes the sleeper. Tokens do not add up.
    void unpark() noexcept {
        // [PA1] release; pairs with the acquires in park().
        if (word_.exchange(token, release) == asleep && !EKIDEN_MUTANT(parker_forgets_to_wake))
            futex_wake(word_);
    }

private:
    // word_   meaning              set by
    // empty   no token, no sleeper park
    // token   a token              unpark
    // asleep  a thread sleeps      park
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
