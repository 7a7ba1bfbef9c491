/// The timers of one context and one clock. The timers are in timing wheels. A lock protects each wheel.
///
/// Part: timer. Used by: timer_state, timer_driver, timer_service.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/timer/detail/timer_wheel.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

class timer_driver;
class timer_state;

/// The clock of a queue. A time is a number of nanoseconds. The number is mapped to an unsigned number, and
/// the mapping keeps the order.
struct timer_clock {
    std::uint64_t (*now)() noexcept;
    /// True if the clock is the library's own clock. A clock that is not the library's own may jump, because
    /// a program can set it. So the queue reads such a clock periodically.
    bool is_own;
    /// True if a simulation provides virtual time for this clock. No program can set the virtual time.
    bool is_simulated;

    /// The longest time between two readings of a clock that may jump, in nanoseconds.
    static constexpr std::int64_t longest_trust = 100'000'000;

    /// Maps signed nanoseconds to an unsigned number. The mapping keeps the order.
    [[nodiscard]] static constexpr std::uint64_t ordered(std::int64_t ns) noexcept {
        return static_cast<std::uint64_t>(ns) ^ std::uint64_t{1} << 63;
    }
    [[nodiscard]] static constexpr std::int64_t signed_ns(std::uint64_t ordered) noexcept {
        return static_cast<std::int64_t>(ordered ^ std::uint64_t{1} << 63);
    }
};

/// The timers of one context and one clock. If the driver has a thread of its own, threads that set timers
/// use different parts of the queue. So these threads do not contend for one lock. Thread-safe.
class timer_queue {
public:
    /// `generation` is the fork generation of the context. Throws std::bad_alloc.
    timer_queue(timer_driver& driver, timer_clock clock, std::uint16_t generation);
    timer_queue(const timer_queue&) = delete;
    timer_queue& operator=(const timer_queue&) = delete;

    [[nodiscard]] timer_driver& driver() const noexcept { return driver_; }
    /// Returns the fork generation of the context. In the child of a fork(), the queue may be newer than its
    /// context. sys/fork.hpp explains generations.
    [[nodiscard]] std::uint16_t generation() const noexcept { return generation_; }

    // ---- called by timer_state, which holds its own lock

    enum class arming : std::uint8_t {
        done,
        earlier, ///< the timer is armed, and the caller must call timer_driver::moved()
        due,     ///< the deadline has passed, so the timer is not armed, and the caller must post the wait
        closed,  ///< the context has shut down, so the timer is not armed
    };
    [[nodiscard]] arming arm(timer_state& idle, std::uint64_t deadline) noexcept;
    /// Takes the state out of the wheel. Returns false if another thread has already taken the state out of
    /// the wheel and is about to fire the state.
    [[nodiscard]] bool disarm(timer_state& armed) noexcept;

    // ---- called by the driver and the service

    /// Returns the time of the next alarm, like alarm_clock::next_ns().
    [[nodiscard]] std::int64_t next_ns() const noexcept {
        // Relaxed is enough, because the caller uses only the time itself. ring() reads the timers under the
        // locks.
        return clock_.is_own ? timer_clock::signed_ns(planned_.load(sys::relaxed))
                             : next_ns_.load(sys::relaxed);
    }
    /// Fires the timers that are due, unless another thread is already firing timers. A dropped handler may
    /// destroy the context, and the queue with it, during this call. If this happens, `*is_gone` is true
    /// after the call, unless `is_gone` is null.
    void ring(const bool* is_gone = nullptr) noexcept;
    /// Abandons all timers. The queue accepts no timers afterwards.
    void close() noexcept;

private:
    /// States that a thread has taken out of the wheel in order to fire them.
    struct batch {
        std::array<timer_state*, 32> due;
        std::size_t next = 0;
        std::size_t count = 0;
    };

    /// The timers that some of the threads have set.
    struct alignas(sys::isolation) part {
        explicit part(std::uint64_t now) noexcept : wheel(now) {}
        sys::slow_lock lock;
        timer_wheel wheel;
    };
    static constexpr unsigned most_parts = 16;
    /// The locks of all parts.
    class all_locks;

    [[nodiscard]] unsigned count_parts() const;
    [[nodiscard]] unsigned part_of_this_thread() noexcept;
    [[nodiscard]] unsigned make_part(unsigned number) noexcept;
    /// Calls `visit(number)` for each part that exists. The caller has the lock of part 0.
    template <class Visit>
    void visit_parts(Visit visit) noexcept;

    void take_due(batch& here, bool& is_ringing_here) noexcept;
    [[nodiscard]] std::uint64_t look_at_clock(timer_wheel& wheel) noexcept;
    [[nodiscard]] bool plan_earlier(std::uint64_t now, std::uint64_t deadline) noexcept;
    void plan(std::uint64_t now, std::uint64_t next) noexcept;
    void estimate(std::uint64_t now, std::uint64_t next) noexcept;

    timer_driver& driver_;
    const timer_clock clock_;
    const std::uint16_t generation_;
    const unsigned part_count_; // the largest number of parts
    // Bit i is set if part i exists. Part 0 always exists. A part is made under the lock of part 0.
    sys::atomic<std::uint32_t> made_{1};
    std::array<std::unique_ptr<part>, most_parts> parts_;
    // The next two members are read under any lock, and written under all locks.
    bool is_closed_ = false;
    batch* ringing_ = nullptr; // The batch of the thread that fires timers now, or null.
    // The time of the next alarm, measured by the clock of the queue. No deadline in a wheel is earlier than
    // planned_. A thread that has all locks writes any value. A thread that has one lock may decrease the
    // value.
    sys::atomic<std::uint64_t> planned_{timer_wheel::never};
    // If the clock is not the library's own, the alarm measured by the library's clock.
    sys::atomic<std::int64_t> next_ns_;

    friend class timer_driver;
    timer_queue* older_ = nullptr; // the next queue in the driver's list
};

} // namespace ekiden::inline EKIDEN_ABI
