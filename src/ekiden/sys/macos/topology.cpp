#include <ekiden/sys/topology.hpp>

#include <ekiden/sys/macos/core_levels.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <sys/sysctl.h>
#include <thread>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

/// Reads a number of the system. Returns 0 if the system has no such number.
int number(const std::string& name) {
    int value = 0;
    std::size_t size = sizeof value;
    return ::sysctlbyname(name.c_str(), &value, &size, nullptr, 0) == 0 ? value : 0;
}

} // namespace

std::vector<int> core_levels() {
    std::vector<int> levels;
    for (int level = 0, count = number("hw.nperflevels"); level < count; ++level)
        levels.push_back(number("hw.perflevel" + std::to_string(level) + ".logicalcpu"));
    if (levels.empty()) levels.push_back(number("hw.logicalcpu")); // before macOS 12
    std::erase(levels, 0);
    return levels;
}

std::optional<double> cpu_quota() { return std::nullopt; } // macOS has no quota

// The first numbers belong to the fastest processors. macOS has no numbers for processors, and does not let a
// program choose them.
std::vector<int> usable_cpus() {
    const std::vector<int> levels = core_levels();
    const int known = std::accumulate(levels.begin(), levels.end(), 0);
    std::vector<int> cpus(known > 0 ? static_cast<unsigned>(known)
                                    : std::max(1U, std::thread::hardware_concurrency()));
    std::iota(cpus.begin(), cpus.end(), 0);
    return cpus;
}

std::vector<std::vector<int>> numa_nodes() { return {usable_cpus()}; }

} // namespace ekiden::inline EKIDEN_ABI::sys
