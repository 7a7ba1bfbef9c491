/// Writes metrics as text for Prometheus (exposition format 0.0.4).
///
/// Part: observe. Used by: pool (add_metrics), programs.
#pragma once

#include <ekiden/observe/detail/histogram.hpp>

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

/// A label of a value.
struct prometheus_label {
    std::string_view name;  ///< must be a name that the format allows
    std::string_view value; ///< any bytes; bytes that are not UTF-8 become U+FFFD
};

/// A page of metrics: their values at one moment.
///
/// The text groups the values of each metric, in whatever order they are added. So several pools can be on
/// one page. The program chooses names and units by the conventions of Prometheus: seconds, bytes, and
/// "_total" at the end of a counter's name. Each metric may be added once for each set of labels. Not
/// thread-safe.
///
/// All members that add a value throw std::bad_alloc. They throw std::invalid_argument for a name that the
/// format does not allow, and for a counter whose name does not end in "_total". They also throw it if the
/// name, without "_total", was used for another kind of metric.
class prometheus_page {
public:
    /// The labels of one value.
    using labels = std::initializer_list<prometheus_label>;

    /// Adds a counter: a value that only grows while the program runs.
    void counter(std::string_view name, std::string_view help, std::uint64_t value, labels with = {});
    /// Adds a gauge: a current value.
    void gauge(std::string_view name, std::string_view help, double value, labels with = {});
    /// Adds a histogram of durations, in seconds. The bounds of its buckets double, from 1 us to 17 s.
    void histogram(std::string_view name, std::string_view help, const histogram_snapshot& of,
                   labels with = {});

    /// Returns the page. Serve it with the content type "text/plain; version=0.0.4".
    [[nodiscard]] std::string text() const;

private:
    struct metric {
        std::string name;
        std::string_view type;
        std::string text;
    };

    std::string& text_of(std::string_view name, std::string_view help, std::string_view type);

    std::deque<metric> metrics_; // in the order in which they were added
};

} // namespace ekiden::inline EKIDEN_ABI
