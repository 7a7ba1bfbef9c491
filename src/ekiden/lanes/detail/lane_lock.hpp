/// The lock of a shard: a spin_mutex with a count of the threads that have waited long. While a thread waits
/// long, the count prevents other threads from acquiring the lock repeatedly.
///
/// Part: lanes. Used by: lanes_state.
#pragma once

#include <ekiden/sync/spin_mutex.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A mutex that meets the requirements of Lockable.
///
/// A thread that runs a full lane acquires the lock several times for each function. A function that posts to
/// its own lane also acquires the lock often. With a spin_mutex alone, a thread that often acquires the lock
/// would nearly always find the lock free, and the other threads would nearly always find the lock held.
/// Therefore the lock counts the threads that have waited longer than a locked section usually lasts. While
/// the count is not zero, every other thread yields once before it acquires the lock.
class lane_lock {
public:
    void lock() noexcept {
        // Relaxed is enough, because the count only decides whether this thread yields.
        if (waiting_long_.load(sys::relaxed) != 0) [[unlikely]]
            sys::yield(); // only once, because the waiting thread may have been preempted by a third thread
        if (!mutex_.try_lock()) [[unlikely]]
            lock_slow();
    }
    [[nodiscard]] bool try_lock() noexcept { return mutex_.try_lock(); }
    void unlock() noexcept { mutex_.unlock(); }

private:
    void lock_slow() noexcept {
        // If the owner has not unlocked after these pauses, it has probably been preempted or has locked
        // again.
        for (unsigned pauses = 1; pauses <= 64; pauses *= 2) {
            for (unsigned i = 0; i != pauses; ++i) sys::spin_hint();
            if (mutex_.try_lock()) return;
        }
        waiting_long_.fetch_add(1, sys::relaxed);
        do sys::yield();
        while (!mutex_.try_lock());
        waiting_long_.fetch_sub(1, sys::relaxed);
    }

    spin_mutex mutex_;
    sys::atomic<std::uint32_t> waiting_long_{0}; // the number of threads that have waited long
};

} // namespace ekiden::inline EKIDEN_ABI
