/// Traces that are made up: arrivals, keys and times drawn from distributions that are published.
///
/// Used by: `ekiden-lab make-trace`, which writes them as CSV.
#pragma once

#include <lab/replay/request_trace.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace lab::replay {

enum class arrivals {
    poisson,
    /// A Poisson process of two rates (A. Heffes, D. Lucantoni, "A Markov modulated characterization of
    /// packetized voice and data traffic", 1986): 5.5 times the mean for a tenth of the time, half of it
    /// otherwise. Both states last for exponential times.
    bursts,
    /// Generalized Pareto gaps as those of Facebook's memcached pool ETC (B. Atikoglu et al., "Workload
    /// analysis of a large-scale key-value store", SIGMETRICS 2012): location 0, scale 16.0292 us, shape
    /// 0.154971; at another rate than theirs the scale is another.
    pareto
};

enum class services {
    constant,
    exponential,
    lognormal,
    pareto, // bounded
    bimodal // short ones, and a few long ones
};

/// What is drawn. Arrivals, keys, services and waits are drawn apart: to change one leaves the others.
struct trace_recipe {
    std::size_t requests = 10'000;
    std::uint64_t seed = 1;

    replay::arrivals arrivals = replay::arrivals::poisson;
    double rate = 0;                     // requests a second, the mean; 0: 10,000, or ETC's own
    std::uint64_t burst_ns = 10'000'000; // mean length of a burst

    std::uint32_t keys = 1'000;
    double zipf = 0.99; // key number r is asked for with a chance as 1/r^zipf; 0: all alike

    services service = services::exponential;
    std::uint64_t service_ns = 20'000; // the mean; if bimodal, that of the short ones
    double sigma = 1;                  // lognormal: of the logarithm
    double alpha = 1.2;                // pareto: the tail falls as x^-alpha
    double spread = 10'000;            // pareto: the longest by the shortest
    std::uint64_t long_ns = 500'000;   // bimodal: the long ones
    double long_share = 0.005;         // bimodal

    double block_share = 0;             // of the requests, that wait without a processor
    std::uint64_t block_ns = 1'000'000; // the median; lognormal with sigma 1
};

/// Throws std::invalid_argument, which names the option, its value and what is allowed. The same recipe makes
/// the same trace.
[[nodiscard]] request_trace make_trace(const trace_recipe& recipe);

/// The rate that make_trace() takes.
[[nodiscard]] double rate_of(const trace_recipe& recipe);

/// All of it in a line, as the options of the command line.
[[nodiscard]] std::string describe(const trace_recipe& recipe);

/// argv[0] is "make-trace". The process's exit status: 2 for a wrong command line.
int make_trace_command(int argc, char** argv);

} // namespace lab::replay
