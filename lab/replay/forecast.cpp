#include <lab/harness/statistics.hpp>
#include <lab/replay/forecast.hpp>
#include <lab/replay/point.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

namespace lab::replay {
namespace {

constexpr double kept_up = 0.5; // threshold for "sustained", which is a median of zeros and ones

double or_zero(const std::map<std::string, double>& figures, const char* name) {
    const auto found = figures.find(name);
    return found == figures.end() ? 0 : found->second;
}

double mean_work_us(const request_trace& trace, std::size_t requests) {
    double sum_us = 0;
    for (std::size_t i = 0; i < requests; ++i)
        sum_us += static_cast<double>(trace.requests[i % trace.requests.size()].service_ns) / 1e3;
    return sum_us / static_cast<double>(std::max<std::size_t>(requests, 1));
}

std::map<std::string, double> play(const request_trace& trace, double rate, std::size_t requests,
                                   shape formed, const virtual_machine& machine, const costs& each) {
    const schedule offered = make_schedule(trace, rate, requests, virtual_turns_per_us);
    const prediction p = predict(offered, formed, machine, each);
    std::map<std::string, double> figures = figures_of(offered, p.record, p.ends_ns);
    figures["overtaken"] =
        static_cast<double>(p.overtaken) / static_cast<double>(std::max<std::size_t>(p.record.sent, 1));
    return figures;
}

nlohmann::json to_json(const std::string& model, double rate, const virtual_machine& machine,
                       const std::map<std::string, double>& figures) {
    return {{"model", model},
            {"rate", rate},
            {"cores", machine.processors},
            {"workers", machine.workers},
            {"clients_have_a_processor", machine.has_clients_processor},
            {"figures", figures}};
}

/// Capacities can always be compared. Delays can be compared only if the model keeps up in both.
nlohmann::json quotients(const measured_point& real, const std::map<std::string, double>& figures) {
    nlohmann::json found = nlohmann::json::object();
    const bool both_kept_up =
        or_zero(real.figures, "sustained") >= kept_up && or_zero(figures, "sustained") >= kept_up;
    for (const char* name : {"rate", "p50_us", "p99_us", "p999_us"}) {
        if ((real.rate > 0) == (std::string(name) == "rate")) continue;
        if (real.rate > 0 && !both_kept_up) continue;
        const double measured = or_zero(real.figures, name);
        if (measured > 0) found[name] = or_zero(figures, name) / measured;
    }
    return found;
}

} // namespace

costs costs_of(const std::map<std::string, double>& fastest, double mean_work_us) {
    const double post_us = or_zero(fastest, "post_us");
    const double overhead_us = std::max(0.0, or_zero(fastest, "cpu_us") - post_us - mean_work_us);
    const double lag_us = or_zero(fastest, "idle_lag_us");
    const double wake_us = std::max(0.0, or_zero(fastest, "idle_us") - lag_us - post_us - overhead_us);
    return {.post = post_us * 1e3,
            .overhead = overhead_us * 1e3,
            .wake = wake_us * 1e3,
            .lag = lag_us * 1e3,
            .sleep = std::max(0.0, or_zero(fastest, "sleep_us")) * 1e3};
}

nlohmann::json forecast(const request_trace& trace, const std::vector<measured_point>& measured,
                        const virtual_machine& here, const other_machine& other,
                        const std::function<bool()>& goes_on) {
    nlohmann::json all_costs = nlohmann::json::object();
    nlohmann::json predicted = nlohmann::json::array();
    const virtual_machine there{.processors = other.cores, .workers = other.cores};
    std::set<double> rates{2 * other.own_rate};
    for (const measured_point& real : measured)
        if (real.rate > 0) rates.insert(real.rate);
    for (const measured_point& fastest : measured) {
        if (fastest.rate > 0) continue;
        const auto formed = static_cast<shape>(static_cast<int>(or_zero(fastest.figures, "shape")));
        const costs each = costs_of(fastest.figures, mean_work_us(trace, fastest.requests));
        all_costs[fastest.model] = {{"post_us", each.post / 1e3},
                                    {"overhead_us", each.overhead / 1e3},
                                    {"wake_us", each.wake / 1e3},
                                    {"lag_us", each.lag / 1e3},
                                    {"sleep_us", each.sleep / 1e3}};
        for (const measured_point& real : measured) {
            if (real.model != fastest.model) continue;
            if (!goes_on()) break;
            const auto figures = play(trace, real.rate, real.requests, formed, here, each);
            nlohmann::json one = to_json(real.model, real.rate, here, figures);
            one["measured"] = real.figures;
            one["predicted_over_measured"] = quotients(real, figures);
            predicted.push_back(std::move(one));
        }
        const auto add = [&](double rate) {
            const auto figures = play(trace, rate, other.requests_at(rate), formed, there, each);
            predicted.push_back(to_json(fastest.model, rate, there, figures));
            return or_zero(figures, "rate");
        };
        if (!goes_on()) break;
        const double capacity = add(0);
        std::set<double> of_this = rates;
        for (const double share : other.shares) of_this.insert(rounded(share * capacity));
        for (const double rate : of_this) {
            if (rate >= capacity) break;
            if (!goes_on()) break;
            add(rate);
        }
    }
    return {{"costs", std::move(all_costs)}, {"predicted", std::move(predicted)}};
}

std::string describe_errors(const nlohmann::json& predicted) {
    constexpr std::array<std::pair<const char*, const char*>, 4> figures{
        {{"rate", "capacity"}, {"p50_us", "P50"}, {"p99_us", "P99"}, {"p999_us", "P99.9"}}};
    std::string text;
    for (const auto& [name, title] : figures) {
        std::vector<double> all;
        for (const nlohmann::json& one : predicted)
            if (one.contains("predicted_over_measured") && one["predicted_over_measured"].contains(name))
                all.push_back(one["predicted_over_measured"][name]);
        if (all.empty()) continue;
        const summary s = summarise(all);
        char line[160];
        std::snprintf(
            line, sizeof line,
            "  %-8s predicted / measured: median %.2f, quartiles %.2f to %.2f, all %.2f to %.2f (%zu)\n",
            title, s.median, s.lower_quartile, s.upper_quartile, s.minimum, s.maximum, s.count);
        text += line;
    }
    std::size_t alike = 0, all = 0;
    for (const nlohmann::json& one : predicted) {
        if (!one.contains("measured") || !one["measured"].contains("sustained")) continue;
        ++all;
        alike += (one["measured"]["sustained"] >= kept_up) == (one["figures"]["sustained"] >= kept_up);
    }
    if (all > 0)
        text += "  whether a model keeps up: predicted as measured for " + std::to_string(alike) + " of "
                + std::to_string(all) + " points\n";
    return text;
}

} // namespace lab::replay
