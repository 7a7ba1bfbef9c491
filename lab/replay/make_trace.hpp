/// Synthetic traces. Arrivals, keys and times are drawn from published distributions.
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
    /// A Poisson process with two rates (A. Heffes, D. Lucantoni, "A Markov modulated characterization of
    /// packetized voice and data traffic", 1986). The rate is 5.5 times the mean for a tenth of the time, and
    /// half of the mean otherwise. Both states have exponential lengths.
    bursts,
    /// Generalized Pareto gaps like those of Facebook's memcached pool ETC (B. Atikoglu et al., "Workload
    /// analysis of a large-scale key-value store", SIGMETRICS 2012): location 0, scale 16.0292 us, shape
    /// 0.154971. At another rate than theirs, the scale is different.
    pareto
};

enum class services {
    constant,
    exponential,
    lognormal,
    pareto, // bounded
    bimodal // short ones and a few long ones
};

/// The recipe of a trace. Arrivals, keys, services and waits are drawn independently. A change of one does
/// not affect the others.
struct trace_recipe {
    std::size_t requests = 10'000;
    std::uint64_t seed = 1;

    replay::arrivals arrivals = replay::arrivals::poisson;
    double rate = 0;                     // mean requests per second; 0: 10,000, or the rate of ETC
    std::uint64_t burst_ns = 10'000'000; // mean length of a burst

    std::uint32_t keys = 1'000;
    double zipf = 0.99; // the probability of key number r is proportional to 1/r^zipf; 0: uniform

    services service = services::exponential;
    std::uint64_t service_ns = 20'000; // mean; for bimodal, the mean of the short ones
    double sigma = 1;                  // for lognormal: standard deviation of the logarithm
    double alpha = 1.2;                // for pareto: the tail falls like x^-alpha
    double spread = 10'000;            // for pareto: the quotient of the longest and the shortest
    std::uint64_t long_ns = 500'000;   // for bimodal: mean of the long ones
    double long_share = 0.005;         // for bimodal: share of the long ones

    double block_share = 0;             // share of the requests that wait without a processor
    std::uint64_t block_ns = 1'000'000; // median; lognormal with sigma 1
};

/// Throws std::invalid_argument, which names the option, its value and the allowed range. Equal recipes give
/// equal traces.
[[nodiscard]] request_trace make_trace(const trace_recipe& recipe);

/// Returns the rate that make_trace() uses.
[[nodiscard]] double rate_of(const trace_recipe& recipe);

/// Describes the recipe on one line, as options of the command line.
[[nodiscard]] std::string describe(const trace_recipe& recipe);

/// argv[0] is "make-trace". Returns the exit status of the process: 2 for a wrong command line.
int make_trace_command(int argc, char** argv);

} // namespace lab::replay
