/// A trace of requests: arrival time, key and duration of each. Read from CSV or JSON lines.
///
/// Used by: experiment replay, its command line, the generator of synthetic traces.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace lab::replay {

/// One request. All times are nanoseconds.
struct request {
    std::uint64_t arrival_ns = 0; // since the first request of the trace
    std::uint64_t service_ns = 0; // work on a processor
    std::uint64_t block_ns = 0;   // waiting during the service, without a processor
    std::uint32_t key = 0;        // from 0, without gaps, in order of first appearance
};

struct request_trace {
    std::vector<request> requests; // in the order of arrival; never empty
    std::uint32_t keys = 0;
    std::string remark; // a decision of the reader as a sentence; empty if there was none

    /// Returns the time from the first arrival to the end of the last request's interval: n requests with
    /// equal gaps take n gaps. At least 1.
    [[nodiscard]] std::uint64_t length_ns() const;
    /// Returns requests per second.
    [[nodiscard]] double rate() const;
};

/// Thrown for a file that cannot be read. what() begins with its name, line and column: "trace.csv:7:12:
/// ...".
class trace_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// How to interpret a file.
struct trace_format {
    /// The columns of a CSV file without a line of names, such as "arrival:us,key,service:ns,-". If empty,
    /// the first line has the names.
    std::string columns = {};
    /// Service times of classes, for files with a class instead of a time.
    std::map<std::string, std::uint64_t> class_ns = {};
    /// The service time of all requests, for files without service times. 0: none.
    std::uint64_t service_ns = 0;
};

/// Reads all of `in`. Throws trace_error if any line is wrong, because half a file makes no trace. `name` is
/// used in messages.
///
/// CSV has a line of names, then a line for each request. JSON lines have an object on each line. The format
/// is JSON if the first line begins with '{'. The names can be in any order, and others are skipped:
///
///     arrival_s | _ms | _us | _ns    arrival time, since any moment such as 1970; must not decrease
///     key                            any text or number
///     service_s | _ms | _us | _ns    time of work; or instead  class, for which `format` has a time
///     block_s | _ms | _us | _ns      time of waiting during the service; optional
///
/// If the unit of the arrivals is the second, and all are whole numbers, the requests of a second are spread
/// evenly over it, and `remark` says so. Arrivals in a finer unit are not changed.
[[nodiscard]] request_trace read_trace(std::istream& in, const std::string& name, const trace_format& format);

/// Reads a file. Throws trace_error if it cannot be opened.
[[nodiscard]] request_trace read_trace(const std::string& path, const trace_format& format);

/// Converts "20us", "1.5 ms" or "2s" to nanoseconds. Throws std::invalid_argument, which says what is
/// allowed.
[[nodiscard]] std::uint64_t parse_duration(const std::string& text);

/// Writes the trace as CSV that read_trace() can read, exact to the nanosecond.
void write_trace(std::ostream& out, const request_trace& trace);

} // namespace lab::replay
