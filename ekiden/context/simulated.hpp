/// What a thread that simulates a program decides in place of the machine: what time it is, and who is next.
///
/// Part: context. Used by: timers, deadlines, strands, lanes, coroutines (ask); sim (answers). Asked where a
/// clock would be read or a batch ends, never once for each task.
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

    /// Which of `ready` lanes, the oldest first, runs next. `ready` > 0.
    [[nodiscard]] virtual std::uint32_t choose_lane(std::uint32_t ready) noexcept = 0;

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

/// Now on `Clock`, as the calling thread sees it: in a simulation the library's clock and the system's stand
/// still until they are told to move on.
template <class Clock>
[[nodiscard]] typename Clock::time_point now_here() noexcept {
    if constexpr (sys::is_own_clock<Clock> || std::is_same_v<Clock, std::chrono::system_clock>) {
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

} // namespace ekiden::inline EKIDEN_ABI
