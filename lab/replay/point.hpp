/// One point of a replay (a trace, a rate and a number of requests), and the figures of a run at this point.
///
/// Used by: experiment replay, its command line.
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/replay/open_loop.hpp>
#include <lab/replay/request_trace.hpp>
#include <lab/replay/schedule.hpp>
#include <lab/replay/service.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace lab::replay {

struct point {
    request_trace trace;
    double rate = 0; // requests per second; 0: as fast as possible
    std::size_t requests = 0;
};

/// Returns the request of the driver to a cell, as the text of settings::input.
[[nodiscard]] std::string to_input(const std::string& trace_path, double rate, std::size_t requests);

/// Returns the point that the cell is asked for in settings::input. If that is empty, returns the shipped
/// trace with the name of the variant, at its own rate. Throws trace_error.
[[nodiscard]] point point_of(const cell& c);

/// A model keeps up under three conditions. When the last request is due, at least the share `enough_served`
/// of all requests has been served. The backlog has not grown. P99 is at most `most_p99` times the median
/// service.
inline constexpr double enough_served = 0.99;
inline constexpr double most_p99 = 100;

/// Returns the figures of a run that took `used`:
///
///     rate                 requests served a second
///     sustained            1 if the model kept up, 0 if not; absent as fast as possible, as all that follow
///     p50_us, p99_us, p999_us, max_us, mean_us     from when a request was due to its end
///     lag_p50_us, lag_p99_us                       from when a request was due until it was sent
///     cpu_us               of the model, for each request: without the generator, with its calls of post()
///     post_us              what of that is the calls of post()
///     overtaken            requests served after a later one of their key, a share
[[nodiscard]] std::map<std::string, double> figures_of(const schedule& offered, const service& s,
                                                       const run_record& record, const usage& used);

/// Returns all of these figures except the last three. `ends_ns` has one element for each request that was
/// sent, on the clock of record.begin_ns.
[[nodiscard]] std::map<std::string, double> figures_of(const schedule& offered, const run_record& record,
                                                       std::span<const std::uint64_t> ends_ns);

/// Returns whether the backlog grew over the last two thirds of the run. It did if the slope over the means
/// of 20 sections is positive with 95 % confidence, and adds up to more than a hundredth of all requests.
[[nodiscard]] bool has_grown(const std::vector<std::size_t>& backlog);

/// Returns requests without work, so far apart that all threads sleep when one arrives.
[[nodiscard]] schedule make_idle_schedule();

/// Returns by how much a sleep of this thread is too long, in microseconds (median). Takes about 10 ms.
[[nodiscard]] double sleep_excess_us();

/// Returns the relative change of the processor's speed, calibrate_turns_per_us().
[[nodiscard]] double drift(double before, double after);
inline constexpr double most_drift = 0.03;

/// The first `workers` processors belong to the model. The next one belongs to the generator, if the machine
/// has more processors than workers. Otherwise, all threads share all processors. Call the first function
/// before a model starts its threads, and the second one afterwards.
void place_models(unsigned workers);
[[nodiscard]] bool has_own_processor(unsigned workers); // whether the generator has its own processor
void place_generator(unsigned workers);
/// Call it in a thread of the model that the generator's thread has started.
void place_started_thread();

} // namespace lab::replay
