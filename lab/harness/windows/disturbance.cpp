#include <lab/harness/disturbance.hpp>
#include <lab/harness/interrupt.hpp>
#include <lab/harness/usage.hpp>

#include <algorithm>
#include <cstdint>
#include <windows.h>

namespace lab {
namespace {

/// Returns the processor time that all programs have used.
std::optional<double> used_by_all_s() {
    FILETIME idle{};
    FILETIME in_kernel{}; // includes the idle time
    FILETIME in_programs{};
    if (::GetSystemTimes(&idle, &in_kernel, &in_programs) == 0) return std::nullopt;
    const auto ticks = [](const FILETIME& time) { // the unit is 100 ns
        return static_cast<double>(std::uint64_t{time.dwHighDateTime} << 32U | time.dwLowDateTime);
    };
    return (ticks(in_kernel) + ticks(in_programs) - ticks(idle)) * 1e-7;
}

} // namespace

std::optional<double> watch_others(double seconds) {
    const auto before = used_by_all_s();
    const usage begin = usage_now();
    sleep_unless_interrupted(seconds);
    const auto after = used_by_all_s();
    const usage own = usage_now() - begin;
    if (interrupted() || !before || !after || !(own.wall_s > 0)) return std::nullopt;
    return std::max(0.0, (*after - *before - own.cpu_s()) / own.wall_s);
}

} // namespace lab
