#include <lab/harness/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace lab {

double quantile(std::span<const double> sorted, double q) {
    if (sorted.empty())
        throw std::invalid_argument("quantile: sorted is empty; at least one value is needed");
    if (!(q >= 0 && q <= 1))
        throw std::invalid_argument("quantile: q is " + std::to_string(q) + "; it must be in [0, 1]");
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(position));
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const double share = position - static_cast<double>(below);
    return sorted[below] + (sorted[above] - sorted[below]) * share;
}

summary summarise(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return {.count = values.size(),
            .median = quantile(values, 0.5),
            .lower_quartile = quantile(values, 0.25),
            .upper_quartile = quantile(values, 0.75),
            .minimum = values.front(),
            .maximum = values.back()};
}

} // namespace lab
