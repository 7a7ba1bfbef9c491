#include <lab/harness/disturbance.hpp>

#include <algorithm>
#include <array>
#include <sstream>

namespace lab {

std::optional<double> used_s(const std::string& stat, const std::vector<int>& processors,
                             double ticks_per_s) {
    double ticks = 0;
    std::size_t found = 0;
    std::istringstream lines(stat);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (!name.starts_with("cpu") || std::none_of(processors.begin(), processors.end(), [&](int p) {
                return name == "cpu" + std::to_string(p);
            }))
            continue;
        // The columns are user nice system idle iowait irq softirq steal. The guests' time follows, but user
        // contains it already.
        std::array<double, 8> of{};
        for (double& value : of)
            if (!(words >> value)) return std::nullopt;
        ticks += of[0] + of[1] + of[2] + of[5] + of[6] + of[7];
        ++found;
    }
    if (found == 0 || found != processors.size()) return std::nullopt;
    return ticks / ticks_per_s;
}

std::optional<double> used_by_others(const std::string& before, const std::string& after,
                                     const std::vector<int>& processors, double ticks_per_s, double elapsed_s,
                                     double own_s) {
    const auto begin = used_s(before, processors, ticks_per_s);
    const auto end = used_s(after, processors, ticks_per_s);
    if (!begin || !end || !(elapsed_s > 0)) return std::nullopt;
    return std::max(0.0, (*end - *begin - own_s) / elapsed_s);
}

bool disturbed(double used_by_others, unsigned available, unsigned wanted) {
    return static_cast<double>(available) - used_by_others < 0.9 * static_cast<double>(wanted);
}

} // namespace lab
