/// What the simulation decides for a thread in place of the machine: the time, and which of several things
/// comes next.
///
/// Part: context. Used by: timers, deadlines, strands, lanes and coroutines (they ask), pools and loops (they
/// are refused), sim (it answers). The library asks where it would read a clock, when a batch ends, and when
/// a context begins. A pool also asks at a post from a thread that works for another context. The library
/// never asks once per executed task.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/sys/clock.hpp>

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI {

/// The simulation of one thread: thread_record::simulation. Only that thread uses it.
class simulated_thread {
public:
    simulated_thread(const simulated_thread&) = delete;
    simulated_thread& operator=(const simulated_thread&) = delete;

    /// Returns the virtual time, on the scale of sys::now_ns().
    [[nodiscard]] std::int64_t now_ns() const noexcept { return now_ns_; }
    /// Returns the virtual time on the system's clock.
    [[nodiscard]] std::int64_t system_now_ns() const noexcept { return now_ns_ + system_epoch; }

    /// Called by a part that cannot be simulated. Fails the run with the reason `why`, and throws. Has no
    /// effect if the run has failed already.
    virtual void refuse(const char* why) = 0;
    /// Returns the index of the next one of `count` things: lanes, oldest first, or members of a when_any().
    /// `count` must be greater than 0.
    [[nodiscard]] virtual std::uint32_t choose_next(std::uint32_t count) noexcept = 0;

protected:
    simulated_thread() = default;
    ~simulated_thread() = default;

    /// The start of virtual time, an arbitrary constant.
    static constexpr std::int64_t epoch = 1'000'000'000'000'000;
    static constexpr std::int64_t system_epoch = 1'000'000'000'000'000'000;

    std::int64_t now_ns_ = epoch;
};

/// Returns the simulation that the calling thread is in. Null in almost all threads.
[[nodiscard]] inline simulated_thread* simulation_here() noexcept { return thread_record::here().simulation; }

/// Fails the run if the calling thread is in a simulation: simulated_thread::refuse().
inline void refuse_in_simulation(const char* why) {
    if (simulated_thread* const here = simulation_here()) [[unlikely]]
        here->refuse(why);
}

/// Whether a simulation has virtual time for `Clock`.
template <class Clock>
inline constexpr bool is_simulated_clock =
    sys::is_own_clock<Clock> || std::is_same_v<Clock, std::chrono::system_clock>;

/// Returns the time on `Clock` for the calling thread. In a simulation, the library's clock and the system's
/// clock only advance when the simulation advances them.
template <class Clock>
[[nodiscard]] typename Clock::time_point now_here() noexcept {
    if constexpr (is_simulated_clock<Clock>) {
        if (const simulated_thread* const here = simulation_here()) [[unlikely]] {
            const std::chrono::nanoseconds since_epoch(sys::is_own_clock<Clock> ? here->now_ns()
                                                                                : here->system_now_ns());
            return
                typename Clock::time_point(std::chrono::duration_cast<typename Clock::duration>(since_epoch));
        }
    }
    return Clock::now();
}

/// Returns the time on the library's clock, in nanoseconds.
[[nodiscard]] inline std::uint64_t now_here_ns() noexcept {
    if (const simulated_thread* const here = simulation_here()) [[unlikely]]
        return static_cast<std::uint64_t>(here->now_ns());
    return sys::now_ns();
}

/// Returns the time from now to `deadline`, by the deadline's own clock as the calling thread sees it.
/// Clamped like sys::bounded(). At most 0 if the deadline is reached.
template <class Clock, class Duration>
[[nodiscard]] sys::clock::duration
time_left_here(const std::chrono::time_point<Clock, Duration>& deadline) noexcept {
    return sys::time_between(now_here<Clock>(), deadline);
}

/// Returns `deadline` on the library's clock. If the deadline uses another clock, this is an estimate: that
/// clock may run at another pace, or be set meanwhile. Then check time_left_here(deadline) again at the
/// returned time.
template <class Clock, class Duration>
[[nodiscard]] sys::clock::time_point
deadline_here(const std::chrono::time_point<Clock, Duration>& deadline) noexcept {
    if constexpr (sys::is_own_clock<Clock>)
        return sys::clock::time_point(sys::bounded(deadline.time_since_epoch()));
    else
        return now_here<sys::clock>() + time_left_here(deadline);
}

} // namespace ekiden::inline EKIDEN_ABI
