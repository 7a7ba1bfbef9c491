/// The lock of a shard: a spin_mutex that a thread does not acquire repeatedly in front of others.
///
/// Part: lanes. Used by: lanes_state.
#pragma once

#include <ekiden/sync/spin_mutex.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Meets Lockable.
///
/// A thread that runs a full lane acquires the lock several times for each function. So does a function that
/// posts to its own lane. With a spin_mutex alone, such a thread would nearly always find the lock free, and
/// the other threads would nearly always find it taken. Therefore a thread that has waited for longer than a
/// section lasts counts itself. While it waits, each other thread yields once before it acquires the lock.
class lane_lock {
public:
    void lock() noexcept {
        // Relaxed is enough: the count only decides about a yield.
        if (waiting_long_.load(sys::relaxed) != 0) [[unlikely]]
            sys::yield(); // once, because a third thread may have preempted the waiting thread
        if (!mutex_.try_lock()) [[unlikely]]
            lock_slow();
    }
    [[nodiscard]] bool try_lock() noexcept { return mutex_.try_lock(); }
    void unlock() noexcept { mutex_.unlock(); }

private:
    void lock_slow() noexcept {
        // An owner that has not unlocked after these pauses probably does not run, or has locked again.
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
    sys::atomic<std::uint32_t> waiting_long_{0}; // threads that have waited for longer than a section lasts
};

} // namespace ekiden::inline EKIDEN_ABI
