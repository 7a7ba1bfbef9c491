/// Writes metrics as text for Prometheus (exposition format 0.0.4).
///
/// Part: observe. Used by: pool, programs.
#pragma once

#include <ekiden/observe/histogram_snapshot.hpp>

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

/// A label of a value.
struct prometheus_label {
    std::string_view name;  ///< the name of the label; the format must allow this name
    std::string_view value; ///< the value of the label; bytes that are not UTF-8 become U+FFFD
};

/// A page with the values of metrics at one moment.
///
/// The text groups the values by metric. So a program may add values in any order, and one page can have the
/// values of several pools. The program should choose names and units by the conventions of Prometheus.
/// Durations are in seconds, sizes are in bytes, and the name of a counter ends in "_total". A program may
/// add each metric once for each set of labels. Not thread-safe.
///
/// Adding a value can throw std::bad_alloc. Adding a value throws std::invalid_argument if the format does
/// not allow the name, or if the name of a counter does not end in "_total". Adding a value also throws
/// std::invalid_argument if the name, without "_total", is already the name of another kind of metric, or if
/// two labels have the same name. Use no name that is the name of a histogram with "_bucket", "_sum" or
/// "_count" at its end.
class prometheus_page {
public:
    /// The labels of one value.
    using labels = std::initializer_list<prometheus_label>;

    /// Adds a counter. A counter only grows while the program runs.
    void counter(std::string_view name, std::string_view help, std::uint64_t value, labels with = {});
    /// Adds a gauge. A gauge is a current value that can grow and shrink.
    void gauge(std::string_view name, std::string_view help, double value, labels with = {});
    /// Adds a histogram of durations in seconds. The upper bound of each bucket is twice the upper bound of
    /// the previous bucket. The upper bounds range from 1 us to 17 s.
    void histogram(std::string_view name, std::string_view help, const histogram_snapshot& of,
                   labels with = {});

    /// Returns the text of the page. Serve the text with the content type "text/plain; version=0.0.4".
    [[nodiscard]] std::string text() const;

private:
    struct metric {
        std::string name;
        std::string_view type;
        std::string text;
    };

    std::string& text_of(std::string_view name, std::string_view help, std::string_view type);

    std::deque<metric> metrics_; // the metrics in the order in which the program added them
};

} // namespace ekiden::inline EKIDEN_ABI
