/// What a thread that simulates a program decides in place of the machine: what time it is, and who is next.
///
/// Part: context. Used by: timers, deadlines, strands, lanes, coroutines (ask), pools and loops (are
/// refused); sim (answers). Asked where a clock would be read, a batch ends or a context begins, and by a
/// pool for a post from a thread that works for another context: never once for each task of a program as it
/// runs.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/sys/clock.hpp>

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI {

/// Of one thread, which alone uses it: thread_record::simulation.
class simulated_thread {
public:
    simulated_thread(const simulated_thread&) = delete;
    simulated_thread& operator=(const simulated_thread&) = delete;

    /// Virtual time, on the scale of sys::now_ns().
    [[nodiscard]] std::int64_t now_ns() const noexcept { return now_ns_; }
    /// The same on the system's clock.
    [[nodiscard]] std::int64_t system_now_ns() const noexcept { return now_ns_ + system_epoch; }

    /// A part of the program runs for real, so that the simulation cannot have it. Fails the run, with `why`,
    /// and throws. Has no effect in a run that has failed already.
    virtual void refuse(const char* why) = 0;
    /// Returns which of `count` things is next: lanes, the oldest first, or members of a when_any(). `count`
    /// > 0.
    [[nodiscard]] virtual std::uint32_t choose_next(std::uint32_t count) noexcept = 0;

protected:
    simulated_thread() = default;
    ~simulated_thread() = default;

    /// Where virtual time begins: any fixed time.
    static constexpr std::int64_t epoch = 1'000'000'000'000'000;
    static constexpr std::int64_t system_epoch = 1'000'000'000'000'000'000;

    std::int64_t now_ns_ = epoch;
};

/// The simulation in which the calling thread is, or null: nearly always.
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

/// Now on `Clock`, as the calling thread sees it: in a simulation the library's clock and the system's stand
/// still until they are told to move on.
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

/// The same on the library's clock, in nanoseconds.
[[nodiscard]] inline std::uint64_t now_here_ns() noexcept {
    if (const simulated_thread* const here = simulation_here()) [[unlikely]]
        return static_cast<std::uint64_t>(here->now_ns());
    return sys::now_ns();
}

/// The time from now to `deadline`, as the deadline's own clock shows it to the calling thread; cut as
/// sys::bounded() does. <= 0: reached.
template <class Clock, class Duration>
[[nodiscard]] sys::clock::duration
time_left_here(const std::chrono::time_point<Clock, Duration>& deadline) noexcept {
    return sys::time_between(now_here<Clock>(), deadline);
}

/// When `deadline` comes on the library's clock. The pace of another clock may differ, and it may be set
/// meanwhile. So the result is a guess then: check time_left_here(deadline) again at that time.
template <class Clock, class Duration>
[[nodiscard]] sys::clock::time_point
deadline_here(const std::chrono::time_point<Clock, Duration>& deadline) noexcept {
    if constexpr (sys::is_own_clock<Clock>)
        return sys::clock::time_point(sys::bounded(deadline.time_since_epoch()));
    else
        return now_here<sys::clock>() + time_left_here(deadline);
}

} // namespace ekiden::inline EKIDEN_ABI
