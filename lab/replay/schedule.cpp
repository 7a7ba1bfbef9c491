#include <lab/replay/schedule.hpp>

#include <algorithm>
#include <cmath>

namespace lab::replay {

schedule make_schedule(const request_trace& trace, double rate, std::size_t count, double turns_per_us) {
    schedule made{.offers = {}, .keys = trace.keys, .rate = rate};
    made.offers.reserve(count);
    const double stretch = rate > 0 ? trace.rate() / rate : 0;
    const std::size_t size = trace.requests.size();
    std::vector<double> lengths;
    lengths.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const request& r = trace.requests[i % size];
        const double arrival = static_cast<double>(i / size) * static_cast<double>(trace.length_ns())
                               + static_cast<double>(r.arrival_ns);
        made.offers.push_back({.due_ns = static_cast<std::uint64_t>(std::llround(arrival * stretch)),
                               .turns = static_cast<std::uint64_t>(
                                   std::llround(static_cast<double>(r.service_ns) * turns_per_us / 1e3)),
                               .block_ns = r.block_ns,
                               .key = r.key});
        lengths.push_back(static_cast<double>(r.service_ns + r.block_ns));
        made.mean_ns += lengths.back() / static_cast<double>(count);
    }
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    made.median_ns = *middle;
    return made;
}

double rounded(double rate) {
    const double step = std::pow(10, std::floor(std::log10(rate)) - 1);
    return std::max(std::round(rate / step) * step, 1.0);
}

} // namespace lab::replay
