#include <lab/harness/affinity.hpp>
#include <lab/harness/busy.hpp>
#include <lab/harness/disturbance.hpp>
#include <lab/harness/machine.hpp>
#include <lab/harness/registry.hpp>
#include <lab/harness/system.hpp>
#include <lab/harness/usage.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <thread>

namespace lab {
namespace {

nlohmann::json or_null(const std::string& text) {
    return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

// Returns the cost of two readings of the clock. Shorter latencies cannot be measured.
double clock_ns() {
    constexpr int reads = 10'000;
    const std::uint64_t begin = now_ns();
    std::uint64_t last = begin;
    for (int i = 0; i < reads; ++i) last = now_ns();
    return static_cast<double>(last - begin) / reads;
}

} // namespace

std::string date_now() {
    const std::time_t now = std::time(nullptr);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    return text;
}

std::string host_name() {
    const std::string name = describe_system().host;
    return name.empty() ? "localhost" : name;
}

unsigned usable_cores() {
    const auto by_mask = static_cast<unsigned>(usable_cpus().size());
    const double quota = describe_system().quota_cores;
    return quota > 0 ? std::clamp(static_cast<unsigned>(std::ceil(quota)), 1U, by_mask) : by_mask;
}

nlohmann::json describe_machine(scale how) {
    const system_facts facts = describe_system();
    const auto others = how == scale::smoke ? std::nullopt : watch_others(1.0);
    nlohmann::json versions = nlohmann::json::array();
    for (const peer& p : known_peers())
        versions.push_back({{"name", p.name}, {"package", p.package}, {"version", p.version}});
    return {{"host", host_name()},
            {"processor", or_null(facts.processor)},
            {"usable_cores", usable_cores()},
            {"all_cores", std::thread::hardware_concurrency()},
            {"numa_nodes", facts.numa_nodes},
            {"memory_gib", facts.memory_gib},
            {"system", facts.system},
            {"governor", or_null(facts.governor)},
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
