#include <lab/replay/facts.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace lab::replay {
namespace {

/// Computes mean and squared coefficient of variation incrementally.
class moments {
public:
    void add(double value) {
        ++count_;
        const double off = value - mean_;
        mean_ += off / static_cast<double>(count_);
        squares_ += off * (value - mean_);
    }
    [[nodiscard]] double mean() const { return mean_; }
    [[nodiscard]] double cv2() const {
        return count_ < 2 || mean_ == 0 ? 0 : squares_ / static_cast<double>(count_ - 1) / (mean_ * mean_);
    }

private:
    std::size_t count_ = 0;
    double mean_ = 0;
    double squares_ = 0;
};

double peak_rate(const request_trace& trace) {
    constexpr std::uint64_t second = 1'000'000'000;
    if (trace.length_ns() <= second) return trace.rate();
    const std::vector<request>& all = trace.requests;
    std::size_t most = 0;
    for (std::size_t begin = 0, end = 0; end < all.size(); ++end) {
        while (all[end].arrival_ns - all[begin].arrival_ns >= second) ++begin;
        most = std::max(most, end - begin + 1);
    }
    return static_cast<double>(most);
}

} // namespace

trace_facts describe(const request_trace& trace) {
    trace_facts f{.rate = trace.rate(), .peak_rate = peak_rate(trace)};
    moments gaps, services, blocks, both;
    std::vector<moments> keys(trace.keys);
    std::vector<std::size_t> counts(trace.keys);
    std::size_t blocking = 0;
    for (std::size_t i = 0; i < trace.requests.size(); ++i) {
        const request& r = trace.requests[i];
        if (i > 0) gaps.add(static_cast<double>(r.arrival_ns - trace.requests[i - 1].arrival_ns));
        const auto whole_us = static_cast<double>(r.service_ns + r.block_ns) / 1e3;
        services.add(static_cast<double>(r.service_ns) / 1e3);
        blocks.add(static_cast<double>(r.block_ns) / 1e3);
        both.add(whole_us);
        keys[r.key].add(whole_us);
        ++counts[r.key];
        blocking += r.block_ns > 0;
    }
    const auto all = static_cast<double>(trace.requests.size());
    f.mean_service_us = services.mean();
    f.mean_block_us = blocks.mean();
    f.blocking_share = static_cast<double>(blocking) / all;
    f.arrival_cv2 = gaps.cv2();
    f.service_cv2 = both.cv2();
    for (std::size_t k = 0; k < keys.size(); ++k) {
        const double share = static_cast<double>(counts[k]) / all;
        if (share * keys[k].mean() < f.hottest_share * f.hottest_us) continue;
        f.hottest_share = share;
        f.hottest_us = keys[k].mean();
    }
    return f;
}

double bound_of_hottest_key(const trace_facts& f) {
    const double us = f.hottest_share * f.hottest_us;
    return us > 0 ? 1e6 / us : std::numeric_limits<double>::infinity();
}

double bound_of_processors(const trace_facts& f, unsigned processors) {
    return f.mean_service_us > 0 ? processors * 1e6 / f.mean_service_us
                                 : std::numeric_limits<double>::infinity();
}

double kingman_wait_us(const trace_facts& f, double rate) {
    const double mean_us = f.mean_service_us + f.mean_block_us;
    const double load = rate * mean_us / 1e6;
    if (load >= 1) return std::numeric_limits<double>::infinity();
    return load / (1 - load) * (f.arrival_cv2 + f.service_cv2) / 2 * mean_us;
}

} // namespace lab::replay
