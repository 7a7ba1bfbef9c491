/// A small lock for slow paths inside the library. In the checking build, the model checker sees the
/// operations of the lock.
///
/// Part: sys. Used by: adapter, async, execution, fork, future, lanes, loop, observe, pool, queue, sync,
/// timer. Programs use ekiden::mutex instead. Algorithm: mutex 2 of Ulrich Drepper's "Futexes Are Tricky".
#pragma once

#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// A mutex. The class meets the BasicLockable requirements. Everything that happens before an unlock() is
/// visible after the next lock().
class slow_lock {
public:
    void lock() noexcept {
        // [LK1] Acquire: sees what the previous owner wrote. Pairs with the release in unlock().
        if (try_lock()) return;
        const std::uint32_t taken = EKIDEN_MUTANT(lock_hides_other_sleepers) ? held : contended;
        while (word_.exchange(taken, acquire) != free) futex_wait(word_, taken);
    }

    /// Acquires the lock if the lock is free. Returns whether the caller has acquired the lock.
    [[nodiscard]] bool try_lock() noexcept {
        std::uint32_t expected = free;
        return word_.compare_exchange_strong(expected, held, acquire, relaxed); // [LK1] as in lock()
    }

    /// Returns whether a thread holds the lock. The answer is a hint, and the call orders nothing.
    [[nodiscard]] bool is_held() const noexcept { return word_.load(relaxed) != free; }

    void unlock() noexcept {
        // [LK1] Release: publishes what this owner wrote. Pairs with the acquires in lock().
        if (word_.exchange(free, release) == contended && !EKIDEN_MUTANT(lock_forgets_to_wake))
            futex_wake(word_);
    }

private:
    // The values of word_:
    //  * free: no thread holds the lock. unlock() sets this value.
    //  * held: a thread holds the lock, and no thread sleeps. lock() and try_lock() set this value.
    //  * contended: a thread holds the lock, and other threads may sleep. lock() sets this value.
    static constexpr std::uint32_t free = 0;
    static constexpr std::uint32_t held = 1;
    static constexpr std::uint32_t contended = 2;

    atomic<std::uint32_t> word_{free};
};

} // namespace ekiden::inline EKIDEN_ABI::sys
