/// One point of a replay: a trace, a rate and a number of requests; and what a run at it has found.
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
    double rate = 0; // requests a second; 0: as fast as possible
    std::size_t requests = 0;
};

/// What the driver asks of a cell, as the text of settings::input.
[[nodiscard]] std::string to_input(const std::string& trace_path, double rate, std::size_t requests);

/// The point that the cell is asked for: settings::input, or else the shipped trace that is called as the
/// variant, at its own rate. Throws trace_error.
[[nodiscard]] point point_of(const cell& c);

/// A model keeps up if, when the last request is due, at least `enough_served` of all have been served, the
/// backlog has not grown, and P99 is at most `most_p99` times the median service.
inline constexpr double enough_served = 0.99;
inline constexpr double most_p99 = 100;

/// The figures of a run that took `used`:
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

/// All but the last three of them. `ends_ns`: of the requests that were sent, on the clock of
/// record.begin_ns.
[[nodiscard]] std::map<std::string, double> figures_of(const schedule& offered, const run_record& record,
                                                       std::span<const std::uint64_t> ends_ns);

/// Whether the backlog grew over the last two thirds of the run: the slope over the means of 20 stretches is
/// above 0 with 95 % confidence, and so steep that it is more than a hundredth of all requests.
[[nodiscard]] bool has_grown(const std::vector<std::size_t>& backlog);

/// Requests without work, so far apart that all threads sleep when one comes.
[[nodiscard]] schedule make_idle_schedule();

/// How much too long a sleep of this thread is, the median, in microseconds; takes about 10 ms.
[[nodiscard]] double sleep_excess_us();

/// By what share the processor's speed, calibrate_turns_per_us(), has changed.
[[nodiscard]] double drift(double before, double after);
inline constexpr double most_drift = 0.03;

/// The first `workers` processors are the models', the next one the generator's, if there is one more than
/// workers; else all are everybody's. Call the first before a model starts its threads, the second after.
void place_models(unsigned workers);
[[nodiscard]] bool has_own_processor(unsigned workers); // the generator
void place_generator(unsigned workers);
/// For a thread that the generator's thread has started: it is one of the model.
void place_started_thread();

} // namespace lab::replay
