#include <ekiden/sys/topology.hpp>

#include <ekiden/sys/linux/control_groups.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

std::optional<std::string> first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    return line;
}

/// Converts a quota and a period, both in us, to a number of processors. The result is empty if there is no
/// quota.
std::optional<double> processors(std::int64_t quota, std::int64_t period) {
    if (quota <= 0 || period <= 0) return std::nullopt;
    return static_cast<double>(quota) / static_cast<double>(period);
}

/// Reads "QUOTA PERIOD" of control groups v2 as a number of processors. The result is empty if the group is
/// unlimited ("max PERIOD"), or if the file cannot be read.
std::optional<double> quota_v2(const std::string& directory) {
    const auto line = first_line(directory + "/cpu.max");
    if (!line) return std::nullopt;
    std::int64_t quota = 0;
    std::int64_t period = 0;
    const char* end = line->data() + line->size();
    const auto [after_quota, error] = std::from_chars(line->data(), end, quota);
    if (error != std::errc{} || after_quota == end) return std::nullopt;
    if (std::from_chars(after_quota + 1, end, period).ec != std::errc{}) return std::nullopt;
    return processors(quota, period);
}

std::optional<double> quota_v1(const std::string& directory) {
    const auto quota = first_line(directory + "/cpu.cfs_quota_us");
    const auto period = first_line(directory + "/cpu.cfs_period_us");
    if (!quota || !period) return std::nullopt;
    return processors(std::strtoll(quota->c_str(), nullptr, 10), std::strtoll(period->c_str(), nullptr, 10));
}

} // namespace

std::optional<double> control_group_quota(const std::string& groups_file, const std::string& root) {
    std::optional<double> tightest;
    const auto take = [&](std::optional<double> quota) {
        if (quota && (!tightest || *quota < *tightest)) tightest = quota;
    };
    std::ifstream groups(groups_file); // lines of "hierarchy:controllers:path"
    for (std::string line; std::getline(groups, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        std::string path = line.substr(second + 1);
        const bool v2 = controllers.empty();
        if (!v2 && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
        for (;;) {
            if (v2)
                take(quota_v2(root + path));
            else
                take(quota_v1(root + "/" + controllers + path));
            const auto slash = path.rfind('/');
            if (slash == std::string::npos || path == "/") break;
            path.resize(slash);
        }
    }
    return tightest;
}

std::optional<double> cpu_quota() { return control_group_quota("/proc/self/cgroup", "/sys/fs/cgroup"); }

std::vector<int> usable_cpus() {
    std::vector<int> cpus;
    constexpr std::size_t most_cpus = 1U << 16U; // more processors than any system has
    for (std::size_t capacity = 1024; capacity <= most_cpus && cpus.empty();
         capacity *= 2) { // a larger machine reports EINVAL
        const auto free_set = [](cpu_set_t* set) { CPU_FREE(set); };
        const std::unique_ptr<cpu_set_t, decltype(free_set)> set(CPU_ALLOC(capacity));
        if (set == nullptr) break;
        const std::size_t size = CPU_ALLOC_SIZE(capacity);
        if (sched_getaffinity(::getpid(), size, set.get()) == 0) { // the mask of the main thread
            for (std::size_t cpu = 0; cpu < capacity; ++cpu) {
                if (CPU_ISSET_S(cpu, size, set.get())) cpus.push_back(static_cast<int>(cpu));
            }
        }
    }
    if (cpus.empty()) {
        cpus.resize(std::max(1U, std::thread::hardware_concurrency()));
        std::iota(cpus.begin(), cpus.end(), 0);
    }
    return cpus;
}

std::vector<std::vector<int>> numa_nodes() {
    const std::vector<int> usable = usable_cpus();
    const std::string root = "/sys/devices/system/node";
    std::vector<std::vector<int>> nodes;
    for (const int node : parse_cpu_list(first_line(root + "/online").value_or(""))) {
        const auto list = first_line(root + "/node" + std::to_string(node) + "/cpulist");
        std::vector<int> cpus = parse_cpu_list(list.value_or(""));
        std::erase_if(cpus, [&](int cpu) { return !std::binary_search(usable.begin(), usable.end(), cpu); });
        if (!cpus.empty()) nodes.push_back(std::move(cpus));
    }
    if (nodes.empty()) nodes.push_back(usable);
    return nodes;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
