/// The lock of a part of the lanes: a spin_mutex that a thread does not take again and again in front of
/// others.
///
/// Part: lanes. Used by: lanes_state.
#pragma once

#include <ekiden/sync/spin_mutex.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Meets Lockable. A thread that runs the functions of a full lane needs the lock several times for each of
/// them, and so does a function that posts to its own lane. With a spin_mutex alone they would nearly always
/// find it free, and another thread would nearly always find it taken. So a thread that has waited for longer
/// than a section lasts says so, and each other thread lets it pass before it takes the lock.
class lane_lock {
public:
    void lock() noexcept {
        // relaxed: a hint.
        if (passed_over_.load(sys::relaxed) != 0) [[unlikely]]
            sys::yield(); // once: the other thread may have lost its processor to a third one
        if (!mutex_.try_lock()) [[unlikely]]
            lock_slow();
    }
    [[nodiscard]] bool try_lock() noexcept { return mutex_.try_lock(); }
    void unlock() noexcept { mutex_.unlock(); }

private:
    void lock_slow() noexcept {
        // A holder that has not left by then is most likely not running, or has taken the lock again.
        for (unsigned pauses = 1; pauses <= 64; pauses *= 2) {
            for (unsigned i = 0; i != pauses; ++i) sys::spin_hint();
            if (mutex_.try_lock()) return;
        }
        passed_over_.fetch_add(1, sys::relaxed);
        do sys::yield();
        while (!mutex_.try_lock());
        passed_over_.fetch_sub(1, sys::relaxed);
    }

    spin_mutex mutex_;
    sys::atomic<std::uint32_t> passed_over_{0}; // threads that wait for longer
};

} // namespace ekiden::inline EKIDEN_ABI
