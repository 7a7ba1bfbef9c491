#include <lab/harness/affinity.hpp>
#include <lab/harness/busy.hpp>
#include <lab/harness/disturbance.hpp>
#include <lab/harness/machine.hpp>
#include <lab/harness/registry.hpp>
#include <lab/harness/usage.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace lab {
namespace {

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

nlohmann::json or_null(const std::string& text) {
    return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name"))
            if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
    return {};
}

double memory_gib() {
    return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE))
           / (1U << 30);
}

int numa_nodes() {
    int count = 0;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", none)) {
        const std::string name = entry.path().filename();
        count += name.size() > 4 && name.starts_with("node") && name[4] >= '0' && name[4] <= '9';
    }
    return std::max(count, 1);
}

// Returns the cost of two readings of the clock. Shorter latencies cannot be measured.
double clock_ns() {
    constexpr int reads = 10'000;
    const std::uint64_t begin = now_ns();
    std::uint64_t last = begin;
    for (int i = 0; i < reads; ++i) last = now_ns();
    return static_cast<double>(last - begin) / reads;
}

// Version 2 has "max 100000" or "150000 100000" in one file. Version 1 has the two numbers in two files.
double quota_cores() {
    double quota = -1;
    double period = -1;
    std::istringstream(first_line("/sys/fs/cgroup/cpu.max")) >> quota >> period;
    if (period <= 0) {
        std::istringstream(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")) >> quota;
        std::istringstream(first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us")) >> period;
    }
    return quota > 0 && period > 0 ? quota / period : 0;
}

} // namespace

std::string date_now() {
    const std::time_t now = std::time(nullptr);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    return text;
}

std::string host_name() {
    char name[256] = {};
    if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
    return name;
}

unsigned usable_cores() {
    const auto by_mask = static_cast<unsigned>(usable_cpus().size());
    const double quota = quota_cores();
    return quota > 0 ? std::clamp(static_cast<unsigned>(std::ceil(quota)), 1U, by_mask) : by_mask;
}

nlohmann::json describe_machine(scale how) {
    utsname kernel{};
    uname(&kernel);
    const auto others = how == scale::smoke ? std::nullopt : watch_others(1.0);
    nlohmann::json versions = nlohmann::json::array();
    for (const peer& p : known_peers())
        versions.push_back({{"name", p.name}, {"package", p.package}, {"version", p.version}});
    return {{"host", host_name()},
            {"processor", or_null(processor())},
            {"usable_cores", usable_cores()},
            {"all_cores", std::thread::hardware_concurrency()},
            {"numa_nodes", numa_nodes()},
            {"memory_gib", memory_gib()},
            {"system", std::string(kernel.sysname) + " " + kernel.release + " " + kernel.machine},
            {"governor", or_null(first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))},
            {"compiler", LAB_COMPILER},
            {"flags", LAB_FLAGS},
            {"clock_ns", clock_ns()},
            {"date", date_now()},
            {"peers", versions},
            {"used_by_others", others ? nlohmann::json(*others) : nlohmann::json()},
            {"disturbed",
             others && disturbed(*others, static_cast<unsigned>(usable_cpus().size()), usable_cores())}};
}

} // namespace lab
