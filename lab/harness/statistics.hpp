/// Order statistics of repeated measurements.
///
/// Used by: the driver (results, tables), the experiments (percentiles of a repetition).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab {

/// The `q`-quantile of ascending `sorted`, 0 <= q <= 1, interpolated linearly between neighbours (type 7 of
/// Hyndman and Fan 1996, the default of R and pandas). Throws std::invalid_argument if it is empty or `q` is
/// outside.
[[nodiscard]] double quantile(std::span<const double> sorted, double q);

/// What one number did over all repetitions.
struct summary {
    std::size_t count = 0;
    double median = 0;
    double lower_quartile = 0;
    double upper_quartile = 0;
    double minimum = 0;
    double maximum = 0;
};

/// Sorts its copy of `values`. Throws std::invalid_argument if there are none.
[[nodiscard]] summary summarise(std::vector<double> values);

} // namespace lab
