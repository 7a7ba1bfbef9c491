#include <lab/replay/make_trace.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <numbers>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace lab::replay {
namespace {

constexpr double etc_scale_us = 16.0292;
constexpr double etc_shape = 0.154971;
constexpr double burst_factor = 5.5;
constexpr double burst_time = 0.1;
constexpr double quiet_factor = (1 - burst_factor * burst_time) / (1 - burst_time);
constexpr double longest_ns = 9007199254740992.0; // 2^53, the limit of the reader

/// The standard defines what its generators draw, but not what its distributions compute from it.
class stream {
public:
    /// Streams with different `number` are independent, even with one seed.
    stream(std::uint64_t seed, std::uint32_t number) {
        std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), number};
        draws_.seed(words);
    }
    /// Returns a number in the open interval (0, 1).
    double uniform() { return (static_cast<double>(draws_() >> 11) + 0.5) * 0x1p-53; }
    double exponential() { return -std::log(uniform()); }
    /// The method of Box and Muller.
    double normal() {
        const double radius = std::sqrt(2 * exponential());
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }

private:
    std::mt19937_64 draws_;
};

void require(bool holds, const char* option, double value, const char* allowed) {
    if (holds) return;
    std::ostringstream text;
    text << option << ' ' << value << ": allowed is " << allowed;
    throw std::invalid_argument(text.str());
}

void check(const trace_recipe& r) {
    require(r.requests >= 1 && r.requests <= 10'000'000, "--requests", static_cast<double>(r.requests),
            "1 to 10000000");
    require(r.rate == 0 || (r.rate >= 0.01 && r.rate <= 1e9), "--rate", r.rate, "0.01 to 1e9 a second");
    require(r.keys >= 1 && r.keys <= 10'000'000, "--keys", r.keys, "1 to 10000000");
    require(r.zipf >= 0 && r.zipf <= 10, "--zipf", r.zipf, "0 to 10");
    require(r.sigma >= 0 && r.sigma <= 5, "--sigma", r.sigma, "0 to 5");
    require(r.alpha > 0 && r.alpha <= 10 && r.alpha != 1, "--alpha", r.alpha, "0 to 10, and neither 0 nor 1");
    require(r.spread > 1 && r.spread <= 1e9, "--spread", r.spread, "more than 1, to 1e9");
    require(r.long_share >= 0 && r.long_share <= 1, "--long-share", r.long_share, "0 to 1");
    require(r.block_share >= 0 && r.block_share <= 1, "--block-share", r.block_share, "0 to 1");
}

/// Returns a function that draws the next gap between two arrivals, in ns.
std::function<double()> gaps_of(const trace_recipe& r) {
    const double mean_ns = 1e9 / rate_of(r);
    stream draw(r.seed, 0);
    switch (r.arrivals) {
    case arrivals::poisson:
        return [draw, mean_ns]() mutable { return mean_ns * draw.exponential(); };
    case arrivals::pareto:
        return [draw, scale_ns = mean_ns * (1 - etc_shape)]() mutable {
            return scale_ns * (std::pow(draw.uniform(), -etc_shape) - 1) / etc_shape;
        };
    case arrivals::bursts:
        break;
    }
    // If the state changes during a gap, the rest of the gap passes at the new rate. This is correct, because
    // the exponential distribution has no memory.
    const auto burst_ns = static_cast<double>(r.burst_ns);
    double left_ns = 0;                           // time left in the current state
    bool is_burst = draw.uniform() >= burst_time; // inverted immediately
    return [=]() mutable {
        double share = draw.exponential();
        for (double gap_ns = 0;;) {
            const double a_share_ns = mean_ns / (is_burst ? burst_factor : quiet_factor);
            if (share * a_share_ns <= left_ns) {
                left_ns -= share * a_share_ns;
                return gap_ns + share * a_share_ns;
            }
            share -= left_ns / a_share_ns;
            gap_ns += left_ns;
            is_burst = !is_burst;
            left_ns = draw.exponential() * (is_burst ? burst_ns : burst_ns * (1 - burst_time) / burst_time);
        }
    };
}

std::function<double()> services_of(const trace_recipe& r) {
    const auto mean_ns = static_cast<double>(r.service_ns);
    stream draw(r.seed, 2);
    switch (r.service) {
    case services::constant:
        break;
    case services::exponential:
        return [draw, mean_ns]() mutable { return mean_ns * draw.exponential(); };
    case services::lognormal:
        return [draw, mean_ns, sigma = r.sigma]() mutable {
            return mean_ns * std::exp(sigma * draw.normal() - sigma * sigma / 2);
        };
    case services::pareto: {
        const double a = r.alpha;
        // The part of the unbounded distribution that lies within the bound.
        const double cut = 1 - std::pow(r.spread, -a);
        // Mean of the distribution that begins at 1.
        const double mean = a / (a - 1) * (1 - std::pow(r.spread, 1 - a)) / cut;
        return [draw, a, cut, shortest_ns = mean_ns / mean]() mutable {
            return shortest_ns * std::pow(1 - draw.uniform() * cut, -1 / a);
        };
    }
    case services::bimodal:
        return [draw, mean_ns, share = r.long_share, long_ns = static_cast<double>(r.long_ns)]() mutable {
            return draw.uniform() < share ? long_ns : mean_ns;
        };
    }
    return [mean_ns] { return mean_ns; };
}

/// Draws ranks of keys, from 0.
class zipf_keys {
public:
    explicit zipf_keys(const trace_recipe& r) : draw_(r.seed, 1) {
        double sum = 0;
        for (std::uint32_t rank = 1; rank <= r.keys; ++rank) sums_.push_back(sum += std::pow(rank, -r.zipf));
    }
    std::size_t operator()() {
        const auto found = std::lower_bound(sums_.begin(), sums_.end(), draw_.uniform() * sums_.back());
        return static_cast<std::size_t>(found - sums_.begin());
    }

private:
    stream draw_;
    std::vector<double> sums_;
};

std::uint64_t whole_ns(double ns) {
    return static_cast<std::uint64_t>(std::llround(std::min(ns, longest_ns)));
}

const std::map<std::string, arrivals> arrivals_names{
    {"poisson", arrivals::poisson}, {"bursts", arrivals::bursts}, {"pareto", arrivals::pareto}};
const std::map<std::string, services> services_names{{"constant", services::constant},
                                                     {"exponential", services::exponential},
                                                     {"lognormal", services::lognormal},
                                                     {"pareto", services::pareto},
                                                     {"bimodal", services::bimodal}};

template <class Value>
const std::string& name_of(const std::map<std::string, Value>& names, Value value) {
    return std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.second == value; })->first;
}

template <class Value>
std::vector<std::string> all_of(const std::map<std::string, Value>& names) {
    std::vector<std::string> all;
    for (const auto& [name, value] : names) all.push_back(name);
    return all;
}

} // namespace

double rate_of(const trace_recipe& recipe) {
    if (recipe.rate > 0) return recipe.rate;
    return recipe.arrivals == arrivals::pareto ? 1e6 * (1 - etc_shape) / etc_scale_us : 10'000;
}

request_trace make_trace(const trace_recipe& recipe) {
    check(recipe);
    const auto gap = gaps_of(recipe);
    const auto service = services_of(recipe);
    zipf_keys rank(recipe);
    stream wait(recipe.seed, 3);
    constexpr std::uint32_t none = 0xffff'ffff;
    // The numbers of the ranks, in order of first appearance.
    std::vector<std::uint32_t> numbers(recipe.keys, none);
    request_trace made;
    made.requests.reserve(recipe.requests);
    double now_ns = 0;
    for (std::size_t i = 0; i < recipe.requests; ++i) {
        const double pause_ns = i == 0 ? 0 : gap();
        now_ns += pause_ns;
        require(pause_ns < 3599e9 && now_ns < longest_ns, "--rate", rate_of(recipe),
                "what leaves no pause of an hour, and ends in 104 days");
        std::uint32_t& number = numbers[rank()];
        if (number == none) number = made.keys++;
        const bool blocks = wait.uniform() < recipe.block_share;
        const double block_ns = static_cast<double>(recipe.block_ns) * std::exp(wait.normal());
        made.requests.push_back({.arrival_ns = whole_ns(now_ns),
                                 .service_ns = whole_ns(service()),
                                 .block_ns = blocks ? whole_ns(block_ns) : 0,
                                 .key = number});
    }
    return made;
}

std::string describe(const trace_recipe& r) {
    std::ostringstream text;
    text << "make-trace --requests " << r.requests << " --seed " << r.seed << " --arrivals "
         << name_of(arrivals_names, r.arrivals) << " --rate " << rate_of(r);
    if (r.arrivals == arrivals::bursts) text << " --burst " << r.burst_ns << "ns";
    text << " --keys " << r.keys << " --zipf " << r.zipf << " --service "
         << name_of(services_names, r.service) << " --mean " << r.service_ns << "ns";
    if (r.service == services::lognormal) text << " --sigma " << r.sigma;
    if (r.service == services::pareto) text << " --alpha " << r.alpha << " --spread " << r.spread;
    if (r.service == services::bimodal) text << " --long " << r.long_ns << "ns --long-share " << r.long_share;
    text << " --block-share " << r.block_share;
    if (r.block_share > 0) text << " --block " << r.block_ns << "ns";
    return text.str();
}

int make_trace_command(int argc, char** argv) {
    CLI::App app("Makes up a trace of requests, and writes it as CSV.", "ekiden-lab make-trace");
    trace_recipe r;
    std::string path, arrivals_name = "poisson", service_name = "exponential";
    std::array<std::pair<const char*, std::uint64_t*>, 4> times{{{"--burst", &r.burst_ns},
                                                                 {"--mean", &r.service_ns},
                                                                 {"--long", &r.long_ns},
                                                                 {"--block", &r.block_ns}}};
    std::array<std::string, 4> given;
    app.add_option("file", path, "where it is written; without it, standard output");
    app.add_option("--requests", r.requests, "how many")->capture_default_str();
    app.add_option("--seed", r.seed, "the same one makes the same trace")->capture_default_str();
    app.add_option("--arrivals", arrivals_name, "distribution of the gaps; pareto is Facebook's ETC")
        ->check(CLI::IsMember(all_of(arrivals_names)))
        ->capture_default_str();
    app.add_option("--rate", r.rate, "requests a second, the mean (default: 10000; pareto: as published)");
    app.add_option("--burst", given[0], "mean length of a burst (default: 10ms)");
    app.add_option("--keys", r.keys, "how many keys there are")->capture_default_str();
    app.add_option("--zipf", r.zipf, "how unequal they are; 0: alike")->capture_default_str();
    app.add_option("--service", service_name, "distribution of the times of work")
        ->check(CLI::IsMember(all_of(services_names)))
        ->capture_default_str();
    app.add_option("--mean", given[1], "mean time of work (default: 20us); bimodal: that of the short ones");
    app.add_option("--sigma", r.sigma, "lognormal: of the logarithm")->capture_default_str();
    app.add_option("--alpha", r.alpha, "pareto: exponent of the tail")->capture_default_str();
    app.add_option("--spread", r.spread, "pareto: the longest by the shortest")->capture_default_str();
    app.add_option("--long", given[2], "bimodal: time of the long ones (default: 500us)");
    app.add_option("--long-share", r.long_share, "bimodal: share of the long ones")->capture_default_str();
    app.add_option("--block-share", r.block_share, "share of the requests that wait inside")
        ->capture_default_str();
    app.add_option("--block", given[3], "median of the waits, which are lognormal (default: 1ms)");
    request_trace made;
    try {
        app.parse(argc, argv);
        for (std::size_t i = 0; i < given.size(); ++i)
            if (!given[i].empty()) *times[i].second = parse_duration(given[i]);
        r.arrivals = arrivals_names.at(arrivals_name);
        r.service = services_names.at(service_name);
        made = make_trace(r);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    } catch (const std::invalid_argument& error) {
        std::cerr << "ekiden-lab: make-trace: " << error.what() << '\n';
        return 2;
    }
    std::ofstream file;
    if (!path.empty()) file.open(path, std::ios::trunc);
    std::ostream& out = path.empty() ? std::cout : file;
    write_trace(out, made);
    if (!out.flush()) {
        std::cerr << "ekiden-lab: make-trace: cannot write '" << (path.empty() ? "standard output" : path)
                  << "'\n";
        return 1;
    }
    std::cerr << "made by: ekiden-lab " << describe(r) << '\n';
    return 0;
}

} // namespace lab::replay
