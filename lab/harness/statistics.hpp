/// Order statistics of repeated measurements.
///
/// Used by: the driver (results, tables), the experiments (percentiles of a repetition).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab {

/// Returns the `q`-quantile of `sorted`, which must be ascending. 0 <= q <= 1. Interpolates linearly between
/// neighbors (type 7 of Hyndman and Fan 1996, the default of R and pandas). Throws std::invalid_argument if
/// `sorted` is empty or `q` is out of range.
[[nodiscard]] double quantile(std::span<const double> sorted, double q);

/// The distribution of one number over all repetitions.
struct summary {
    std::size_t count = 0;
    double median = 0;
    double lower_quartile = 0;
    double upper_quartile = 0;
    double minimum = 0;
    double maximum = 0;
};

/// Sorts its copy of `values`. Throws std::invalid_argument if it is empty.
[[nodiscard]] summary summarise(std::vector<double> values);

} // namespace lab
