#include <ekiden/sys/topology.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ekiden::inline EKIDEN_ABI::sys {

unsigned usable_concurrency() {
    const auto cpus = static_cast<unsigned>(usable_cpus().size());
    const double quota = std::ceil(cpu_quota().value_or(cpus));
    return quota < cpus ? std::max(1U, static_cast<unsigned>(quota)) : cpus;
}

std::vector<int> parse_cpu_list(std::string_view text) {
    constexpr int most_cpus = 1 << 16; // more processors than any system has
    std::vector<int> cpus;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        int first = 0;
        auto [behind, error] = std::from_chars(at, end, first);
        if (error != std::errc{} || first < 0 || first >= most_cpus) break;
        int last = first;
        if (behind != end && *behind == '-') {
            const auto second = std::from_chars(behind + 1, end, last);
            if (second.ec != std::errc{} || last < first || last >= most_cpus) break;
            behind = second.ptr;
        }
        for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
        if (behind == end || *behind != ',') break;
        at = behind + 1;
    }
    return cpus;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
