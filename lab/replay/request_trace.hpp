/// Requests as they came: when, for which key, and how long each took. Read from CSV or JSON lines.
///
/// Used by: experiment replay, its command line, the generator of made-up traces.
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
    std::uint64_t arrival_ns = 0; // since the trace's first request
    std::uint64_t service_ns = 0; // of work on a processor
    std::uint64_t block_ns = 0;   // of waiting inside of the service, without a processor
    std::uint32_t key = 0;        // from 0, without gaps, in the order in which the keys came first
};

struct request_trace {
    std::vector<request> requests; // in the order of arrival; never empty
    std::uint32_t keys = 0;
    std::string remark; // what the reader had to decide: empty, or a sentence

    /// From the first arrival to the end of the last request's share of time: n requests at even distance
    /// take n distances. At least 1.
    [[nodiscard]] std::uint64_t length_ns() const;
    /// Requests a second.
    [[nodiscard]] double rate() const;
};

/// A file that cannot be taken; what() begins with its name, line and column: "trace.csv:7:12: ...".
class trace_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// How to understand a file.
struct trace_format {
    /// The columns of a CSV file without a line of names, such as "arrival:us,key,service:ns,-". Empty: the
    /// first line names them.
    std::string columns = {};
    /// Service times of classes, for files that name a class instead of a time.
    std::map<std::string, std::uint64_t> class_ns = {};
    /// Of all requests, for files without service times; 0: there is none.
    std::uint64_t service_ns = 0;
};

/// Reads all of `in`, or throws trace_error: no trace is made of half a file. `name` is what messages call
/// it.
///
/// CSV: a line of names, then a line a request. JSON lines: an object a line; taken to be so if the first
/// line begins with '{'. The names, in any order; others are skipped:
///
///     arrival_s | _ms | _us | _ns    when it came, since any moment such as 1970; must not fall
///     key                            any text or number
///     service_s | _ms | _us | _ns    time of work; without it  class, which `format` gives a time
///     block_s | _ms | _us | _ns      time of waiting inside of it; optional
///
/// If the unit of the arrivals is the second, all of them are whole, and a second has several, then these are
/// spread evenly over it, and `remark` says so. Arrivals in a finer unit stay where they are.
[[nodiscard]] request_trace read_trace(std::istream& in, const std::string& name, const trace_format& format);

/// The same for a file. Throws trace_error if it cannot be opened.
[[nodiscard]] request_trace read_trace(const std::string& path, const trace_format& format);

/// "20us", "1.5 ms", "2s" as nanoseconds. Throws std::invalid_argument, which says what is allowed.
[[nodiscard]] std::uint64_t parse_duration(const std::string& text);

/// Writes it as CSV that read_trace() takes back, to the nanosecond.
void write_trace(std::ostream& out, const request_trace& trace);

} // namespace lab::replay
