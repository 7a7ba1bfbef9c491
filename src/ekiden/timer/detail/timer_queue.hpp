/// The timers of one context and one clock: a wheel under a lock.
///
/// Part: timer. Used by: timer_state (arms itself), timer_driver (fires timers), timer_service (owns the
/// queue).
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

/// How a queue reads its clock. Times are nanoseconds, ordered as unsigned numbers.
struct timer_clock {
    std::uint64_t (*now)() noexcept;
    /// True for the library's own clock. Any other clock may be set, so the queue reads it periodically.
    bool is_own;
    /// True if a simulation has virtual time for this clock. No program sets that time.
    bool is_simulated;

    /// The longest time between two readings of a clock that may be set, in nanoseconds.
    static constexpr std::int64_t longest_trust = 100'000'000;

    /// Maps signed nanoseconds to unsigned numbers in the same order.
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
    /// Returns the generation of the process that created the queue: see sys/fork.hpp.
    [[nodiscard]] std::uint16_t generation() const noexcept { return generation_; }

    // ---- called by timer_state, which holds its own lock

    enum class arming : std::uint8_t {
        done,
        earlier, ///< armed, and the driver must be told
        due,     ///< not armed: the deadline has passed, and the context does not drive its timers
        closed,  ///< not armed: the context has shut down
    };
    [[nodiscard]] arming arm(timer_state& idle, std::uint64_t deadline) noexcept;
    /// Returns false if a thread has taken the state out of the wheel and is about to fire it.
    [[nodiscard]] bool disarm(timer_state& armed) noexcept;

    // ---- called by the driver and the service

    /// Like alarm_clock::next_ns().
    [[nodiscard]] std::int64_t next_ns() const noexcept {
        // Relaxed is enough: this is only a time. Due timers are found under the lock.
        return next_ns_.load(sys::relaxed);
    }
    /// Fires the timers that are due, unless another thread is doing so. Sets `*is_gone`, if `is_gone` is not
    /// null, when the context has been destroyed meanwhile. A dropped handler can cause this.
    void ring(const bool* is_gone = nullptr) noexcept;
    /// Abandons all timers and accepts no more.
    void close() noexcept;

private:
    /// The states that a thread has taken out of the wheel to fire them.
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
    batch* ringing_ = nullptr; // the batch of the thread that fires
    // The alarm in next_ns_, on this clock; no timer in the wheel is earlier
    std::uint64_t planned_ = timer_wheel::never;
    timer_wheel wheel_;

    friend class timer_driver;
    timer_queue* older_ = nullptr; // next in the driver's list
};

} // namespace ekiden::inline EKIDEN_ABI
