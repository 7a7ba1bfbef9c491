/// Metrics as the text that Prometheus reads (exposition format 0.0.4).
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
    std::string_view name;  ///< as the format allows it
    std::string_view value; ///< any bytes: those that are no UTF-8 become U+FFFD
};

/// The values of one moment. Those of one metric stand together in the text, in whichever order they are
/// added, so that several pools can be on one page. Names and units are the program's to choose, by the
/// conventions: seconds, bytes, "_total" at the end of a counter's. Not thread-safe.
///
/// The functions throw std::invalid_argument for a name that the format does not allow, for a counter whose
/// name does not end in "_total", and for a name that, but for the "_total", was that of another kind of
/// metric before; std::bad_alloc. Each metric has a set of labels once.
class prometheus_page {
public:
    /// Those of one value.
    using labels = std::initializer_list<prometheus_label>;

    /// Only ever grows while the program runs.
    void counter(std::string_view name, std::string_view help, std::uint64_t value, labels with = {});
    /// A value now.
    void gauge(std::string_view name, std::string_view help, double value, labels with = {});
    /// Durations, in seconds: how many were below each power of two of nanoseconds from 1 us to 17 s.
    void histogram(std::string_view name, std::string_view help, const histogram_snapshot& of,
                   labels with = {});

    /// The page: what Prometheus gets with the content type "text/plain; version=0.0.4".
    [[nodiscard]] std::string text() const;

private:
    struct metric {
        std::string name;
        std::string_view type;
        std::string text;
    };

    std::string& text_of(std::string_view name, std::string_view help, std::string_view type);

    std::deque<metric> metrics_; // in the order in which they came
};

} // namespace ekiden::inline EKIDEN_ABI
