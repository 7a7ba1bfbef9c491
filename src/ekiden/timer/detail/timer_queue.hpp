/// The timers of one context that follow one clock: a wheel under a lock.
///
/// Part: timer. Used by: timer_state (arms itself), timer_driver (rings), timer_service (owns it).
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/timer/detail/timer_wheel.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

class timer_driver;
class timer_state;

/// How a queue reads its clock, in nanoseconds in the order of numbers without sign.
struct timer_clock {
    std::uint64_t (*now)() noexcept;
    /// Whether it is the library's own. Any other may be set, so that it is looked at from time to time.
    bool is_own;
    /// Whether a simulation has virtual time for it, which nothing sets.
    bool is_simulated;

    /// How often, in nanoseconds.
    static constexpr std::int64_t longest_trust = 100'000'000;

    /// A number of nanoseconds with a sign, so that the order is that of numbers without.
    [[nodiscard]] static constexpr std::uint64_t ordered(std::int64_t ns) noexcept {
        return static_cast<std::uint64_t>(ns) ^ std::uint64_t{1} << 63;
    }
    [[nodiscard]] static constexpr std::int64_t signed_ns(std::uint64_t ordered) noexcept {
        return static_cast<std::int64_t>(ordered ^ std::uint64_t{1} << 63);
    }
};

/// Thread-safe.
class timer_queue {
public:
    timer_queue(timer_driver& driver, timer_clock clock) noexcept;
    timer_queue(const timer_queue&) = delete;
    timer_queue& operator=(const timer_queue&) = delete;

    [[nodiscard]] timer_driver& driver() const noexcept { return driver_; }
    /// Of the process that made it: see sys/fork.hpp.
    [[nodiscard]] std::uint16_t generation() const noexcept { return generation_; }

    // ---- for timer_state, under its lock

    enum class arming : std::uint8_t {
        done,
        earlier, ///< the same, and the driver must be told
        due,     ///< not armed: the deadline has come already, and the context does not ring
        closed,  ///< the context has shut down; not armed
    };
    [[nodiscard]] arming arm(timer_state& idle, std::uint64_t deadline) noexcept;
    /// False: a thread has taken it out, and is about to fire it.
    [[nodiscard]] bool disarm(timer_state& armed) noexcept;

    // ---- for the driver and the service

    /// As alarm_clock::next_ns().
    [[nodiscard]] std::int64_t next_ns() const noexcept {
        // Only a time: what is due is found under the lock.
        return next_ns_.load(sys::relaxed);
    }
    /// Fires what is due, unless another thread is at it. `is_gone`, if not null, becomes true when the
    /// context has ended meanwhile, by what a handler did that was dropped.
    void ring(const bool* is_gone = nullptr) noexcept;
    /// Takes no timers any more, and abandons all.
    void close() noexcept;

private:
    /// What a thread has taken out of the wheel to fire it.
    struct batch {
        std::array<timer_state*, 32> due;
        std::size_t next = 0;
        std::size_t count = 0;
    };

    void take_due(batch& here, bool& is_ringing_here) noexcept;
    [[nodiscard]] std::uint64_t look_at_clock() noexcept;
    void plan(std::uint64_t now, std::uint64_t next) noexcept;

    timer_driver& driver_;
    const timer_clock clock_;
    const std::uint16_t generation_ = sys::fork_generation();
    sys::atomic<std::int64_t> next_ns_; // written under lock_
    sys::slow_lock lock_;
    bool is_closed_ = false;
    batch* ringing_ = nullptr;                   // of the thread that fires
    std::uint64_t planned_ = timer_wheel::never; // what next_ns_ stands for: nothing in the wheel is earlier
    timer_wheel wheel_;

    friend class timer_driver;
    timer_queue* older_ = nullptr; // in the driver's list
};

} // namespace ekiden::inline EKIDEN_ABI
