/// A lock that the child of a fork() can always acquire.
///
/// Part: sys. Used by: async, execution.
#pragma once

#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// A mutex like slow_lock. In the child of a fork(), the lock is free, even if a thread of the parent process
/// held the lock during the fork. So the next owner in the child may find data that this thread was changing.
/// Use the lock only if this data is usable at each moment, or is not used in the child. The class meets the
/// BasicLockable requirements. Everything that happens before an unlock() is visible after the next lock() of
/// the same process.
class process_lock {
public:
    void lock() noexcept {
        const std::uint32_t mine = held();
        std::uint32_t seen = free;
        // [LK2] Acquire: sees what the previous owner wrote. Pairs with the release in unlock().
        if (word_.compare_exchange_strong(seen, mine, acquire, relaxed)) return;
        const std::uint32_t taken =
            EKIDEN_MUTANT(process_lock_hides_other_sleepers) ? mine : mine | contended;
        for (;;) {
            seen = word_.exchange(taken, acquire);                // [LK2]
            if ((seen | contended) != (mine | contended)) return; // free, or held in the parent process
            futex_wait(word_, taken);
        }
    }

    void unlock() noexcept {
        // [LK2] Release: publishes what this owner wrote. Pairs with the acquires in lock().
        if ((word_.exchange(free, release) & contended) != 0 && !EKIDEN_MUTANT(process_lock_forgets_to_wake))
            futex_wake(word_);
    }

private:
    // The value of word_ is free, or has three parts:
    //  * bit 0 is set, because a thread holds the lock.
    //  * bit 1 (contended) is set if other threads may sleep.
    //  * the other bits contain the fork generation of the process to which the thread belongs.
    static constexpr std::uint32_t free = 0;
    static constexpr std::uint32_t contended = 2;
    [[nodiscard]] static std::uint32_t held() noexcept { return std::uint32_t{fork_generation()} << 2 | 1; }

    atomic<std::uint32_t> word_{free};
};

} // namespace ekiden::inline EKIDEN_ABI::sys
