/// The lock for slow paths inside the library. It is small, and instrumented in the checking build.
///
/// Part: sys. Used by: queue, pool (registration, growth, start and end of threads). Programs use
/// ekiden::mutex. Algorithm: U. Drepper, "Futexes Are Tricky", mutex 2.
#pragma once

#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Mutual exclusion. Meets BasicLockable. Everything before an unlock() is visible after the next lock().
class slow_lock {
public:
    void lock() noexcept {
        // [LK1] acquire; pairs with the release in unlock().
        if (try_lock()) return;
        const std::uint32_t taken = EKIDEN_MUTANT(lock_hides_other_sleepers) ? held : contended;
        while (word_.exchange(taken, acquire) != free) futex_wait(word_, taken);
    }

    /// Returns whether the lock was free. Then the caller holds it.
    [[nodiscard]] bool try_lock() noexcept {
        std::uint32_t expected = free;
        return word_.compare_exchange_strong(expected, held, acquire, relaxed); // [LK1] as in lock()
    }

    /// A hint. Orders nothing.
    [[nodiscard]] bool is_held() const noexcept { return word_.load(relaxed) != free; }

    void unlock() noexcept {
        // [LK1] Release: publishes what this owner wrote. Pairs with the acquires in lock().
        if (word_.exchange(free, release) == contended && !EKIDEN_MUTANT(lock_forgets_to_wake))
            futex_wake(word_);
    }

private:
    // word_      meaning                                          set by
    // free       no thread holds the lock                         unlock
    // held       a thread holds it, and no thread sleeps          lock
    // contended  a thread holds it, and threads may sleep         lock
    static constexpr std::uint32_t free = 0;
    static constexpr std::uint32_t held = 1;
    static constexpr std::uint32_t contended = 2;

    atomic<std::uint32_t> word_{free};
};

} // namespace ekiden::inline EKIDEN_ABI::sys
