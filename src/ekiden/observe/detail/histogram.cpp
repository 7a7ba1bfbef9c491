#include <ekiden/observe/detail/histogram.hpp>

#include <algorithm>
#include <cmath>

namespace ekiden::inline EKIDEN_ABI {

std::uint64_t histogram_snapshot::quantile(double q) const noexcept {
    const auto rank =
        static_cast<std::uint64_t>(std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(total())));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket != buckets; ++bucket) {
        seen += counts[bucket];
        if (seen != 0 && seen >= rank) return lower_bound(std::min(bucket + 1, buckets - 1));
    }
    return 0;
}

} // namespace ekiden::inline EKIDEN_ABI
