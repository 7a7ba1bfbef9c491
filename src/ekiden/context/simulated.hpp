/// The interface between the library and a simulation. A simulation sets the time for a thread, and decides
/// which of several things happens next.
///
/// Part: context. Used by: timer, sync, execution, lanes, async, pool, loop, sim. The part sim implements the
/// interface. The other parts of the library check for a simulation before they read a clock, at the end of a
/// batch of tasks, and when a context is constructed. A pool also checks for a simulation when a thread that
/// works for another context posts a task. No part of the library checks for a simulation each time it runs a
/// task.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/sys/clock.hpp>

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI {

/// The simulation that a thread is in. The member thread_record::simulation points to the object. Only that
/// thread uses the object.
class simulated_thread {
public:
    simulated_thread(const simulated_thread&) = delete;
    simulated_thread& operator=(const simulated_thread&) = delete;

    /// Returns the virtual time, on the scale of sys::now_ns().
    [[nodiscard]] std::int64_t now_ns() const noexcept { return now_ns_; }
    /// Returns the virtual time on the scale of std::chrono::system_clock, in nanoseconds.
    [[nodiscard]] std::int64_t system_now_ns() const noexcept { return now_ns_ + system_epoch; }

    /// Called by a part of the library that cannot be simulated. Makes the simulated run fail with the reason
    /// `why`, and throws. Has no effect if the run has failed already.
    virtual void refuse(const char* why) = 0;
    /// Chooses one of `count` things and returns its index. The things are lanes in the order of their age,
    /// or members of a when_any(). `count` must be greater than 0.
    [[nodiscard]] virtual std::uint32_t choose_next(std::uint32_t count) noexcept = 0;

protected:
    simulated_thread() = default;
    ~simulated_thread() = default;

    /// The virtual times, in nanoseconds, at which every simulation starts. The values are arbitrary.
    static constexpr std::int64_t epoch = 1'000'000'000'000'000;
    static constexpr std::int64_t system_epoch = 1'000'000'000'000'000'000;

    std::int64_t now_ns_ = epoch;
};

/// Returns the simulation that the calling thread is in. Returns null for a thread outside every simulation.
[[nodiscard]] inline simulated_thread* simulation_here() noexcept { return thread_record::here().simulation; }

/// Calls simulated_thread::refuse() if the calling thread is in a simulation.
inline void refuse_in_simulation(const char* why) {
    if (simulated_thread* const here = simulation_here()) [[unlikely]]
        here->refuse(why);
}

/// True if a simulation has virtual time for `Clock`.
template <class Clock>
inline constexpr bool is_simulated_clock =
    sys::is_own_clock<Clock> || std::is_same_v<Clock, std::chrono::system_clock>;

/// Returns the time on `Clock` for the calling thread. In a simulation, the library's clock and the system's
/// clock advance only when the simulation advances them.
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

/// Returns the time from now to `deadline`, measured by the clock of the deadline. Uses virtual time in a
/// simulation. The result is clamped to the range of the results of sys::bounded(). The result is 0 or
/// negative if the deadline has been reached.
template <class Clock, class Duration>
[[nodiscard]] sys::clock::duration
time_left_here(const std::chrono::time_point<Clock, Duration>& deadline) noexcept {
    return sys::time_between(now_here<Clock>(), deadline);
}

/// Converts `deadline` to the library's clock. If the deadline uses another clock, the result is an estimate,
/// because that clock may run at another rate, or may be changed meanwhile. If the deadline uses another
/// clock, check time_left_here(deadline) again at the returned time.
template <class Clock, class Duration>
[[nodiscard]] sys::clock::time_point
deadline_here(const std::chrono::time_point<Clock, Duration>& deadline) noexcept {
    if constexpr (sys::is_own_clock<Clock>)
        return sys::clock::time_point(sys::bounded(deadline.time_since_epoch()));
    else
        return now_here<sys::clock>() + ekiden::time_left_here(deadline);
}

} // namespace ekiden::inline EKIDEN_ABI
