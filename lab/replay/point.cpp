#include <lab/harness/affinity.hpp>
#include <lab/harness/busy.hpp>
#include <lab/harness/statistics.hpp>
#include <lab/replay/point.hpp>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

namespace lab::replay {
namespace {

std::vector<int> all_cpus;    // stored before threads are bound
std::vector<int> models_cpus; // empty: the models are not bound

} // namespace

std::string to_input(const std::string& trace_path, double rate, std::size_t requests) {
    return nlohmann::json{{"trace", trace_path}, {"rate", rate}, {"requests", requests}}.dump();
}

point point_of(const cell& c) {
    if (!c.asked().input.empty()) {
        const nlohmann::json j = nlohmann::json::parse(c.asked().input);
        return {.trace = read_trace(j.at("trace").get<std::string>(), trace_format{}),
                .rate = j.at("rate"),
                .requests = j.at("requests")};
    }
    point shipped{.trace = read_trace(LAB_TRACES "/" + c.asked().variant + ".csv", trace_format{})};
    shipped.rate = shipped.trace.rate();
    shipped.requests = c.pick(200, 20'000, 40'000);
    return shipped;
}

std::map<std::string, double> figures_of(const schedule& offered, const service& s, const run_record& record,
                                         const usage& used) {
    std::vector<std::uint64_t> ends_ns(record.sent);
    for (std::size_t i = 0; i < record.sent; ++i) ends_ns[i] = s.end_ns(i);
    std::map<std::string, double> found = figures_of(offered, record, ends_ns);
    const auto count = static_cast<double>(record.sent);
    const double posting_s = std::min(record.posting_s, record.generator_cpu_s);
    found["cpu_us"] = std::max(0.0, used.cpu_s() - record.generator_cpu_s + posting_s) * 1e6 / count;
    found["post_us"] = posting_s * 1e6 / count;
    found["overtaken"] = static_cast<double>(s.overtaken()) / count;
    return found;
}

std::map<std::string, double> figures_of(const schedule& offered, const run_record& record,
                                         std::span<const std::uint64_t> ends_ns) {
    const auto count = static_cast<double>(record.sent);
    std::uint64_t last_ns = record.begin_ns + 1;
    std::vector<double> delays_us(record.sent);
    std::size_t in_time = 0;
    const std::uint64_t last_due = record.begin_ns + offered.offers.back().due_ns;
    for (std::size_t i = 0; i < record.sent; ++i) {
        const std::uint64_t due = record.begin_ns + offered.offers[i].due_ns;
        const std::uint64_t end = ends_ns[i];
        last_ns = std::max(last_ns, end);
        delays_us[i] = static_cast<double>(end - std::min(end, due)) / 1e3;
        // The last requests cannot have ended yet. They may take as long as they take alone.
        const offer& o = offered.offers[i];
        const double alone_ns = offered.mean_ns * 4 + static_cast<double>(o.block_ns);
        in_time += static_cast<double>(end) <= static_cast<double>(std::max(due, last_due)) + alone_ns;
    }
    std::map<std::string, double> found;
    found["rate"] = count * 1e9 / static_cast<double>(last_ns - record.begin_ns);
    if (!offered.is_paced()) return found;
    std::sort(delays_us.begin(), delays_us.end());
    const bool is_whole = record.sent == offered.offers.size();
    const double p99 = quantile(delays_us, 0.99);
    const bool kept_up = is_whole && static_cast<double>(in_time) >= enough_served * count
                         && !has_grown(record.backlog) && p99 * 1e3 <= most_p99 * offered.median_ns;
    found["sustained"] = kept_up ? 1 : 0;
    if (!is_whole) return found; // percentiles of a part would be too good
    found["p50_us"] = quantile(delays_us, 0.5);
    found["p99_us"] = p99;
    found["p999_us"] = quantile(delays_us, 0.999);
    found["max_us"] = delays_us.back();
    found["mean_us"] = std::accumulate(delays_us.begin(), delays_us.end(), 0.0) / count;
    std::vector<double> lags_us(record.sent);
    std::transform(record.lags_ns.begin(), record.lags_ns.end(), lags_us.begin(),
                   [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; });
    std::sort(lags_us.begin(), lags_us.end());
    found["lag_p50_us"] = quantile(lags_us, 0.5);
    found["lag_p99_us"] = quantile(lags_us, 0.99);
    return found;
}

bool has_grown(const std::vector<std::size_t>& backlog) {
    constexpr std::size_t stretches = 20;
    const std::size_t first = backlog.size() / 3;
    const std::size_t each = (backlog.size() - first) / stretches;
    if (each == 0) return false;
    double mean[stretches];
    for (std::size_t k = 0; k < stretches; ++k) {
        const auto begin = backlog.begin() + static_cast<std::ptrdiff_t>(first + k * each);
        mean[k] = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(each), 0.0)
                  / static_cast<double>(each);
    }
    constexpr double middle = (stretches - 1) / 2.0;
    const double level = std::accumulate(mean, mean + stretches, 0.0) / stretches;
    double products = 0;
    double squares = 0;
    for (std::size_t k = 0; k < stretches; ++k) {
        products += (static_cast<double>(k) - middle) * (mean[k] - level);
        squares += (static_cast<double>(k) - middle) * (static_cast<double>(k) - middle);
    }
    const double slope = products / squares;
    double rest = 0;
    for (std::size_t k = 0; k < stretches; ++k) {
        const double off = mean[k] - level - slope * (static_cast<double>(k) - middle);
        rest += off * off;
    }
    constexpr double one_sided_95 = 1.734; // Student's t with 18 degrees of freedom
    const double error = std::sqrt(rest / (stretches - 2) / squares);
    return slope - one_sided_95 * error > 0 && slope * stretches > static_cast<double>(backlog.size()) / 100;
}

schedule make_idle_schedule() {
    constexpr std::uint64_t apart_ns = 500'000;
    constexpr std::size_t count = 60;
    schedule made{.offers = {}, .keys = 1, .rate = 1e9 / apart_ns};
    for (std::size_t i = 1; i <= count; ++i) made.offers.push_back({.due_ns = i * apart_ns});
    return made;
}

double sleep_excess_us() {
    constexpr std::uint64_t each_ns = 100'000;
    std::vector<double> excess_us;
    for (int i = 0; i < 60; ++i) {
        const std::uint64_t begin = now_ns();
        std::this_thread::sleep_for(std::chrono::nanoseconds(each_ns));
        excess_us.push_back((static_cast<double>(now_ns() - begin) - each_ns) / 1e3);
    }
    std::sort(excess_us.begin(), excess_us.end());
    return quantile(excess_us, 0.5);
}

double drift(double before, double after) { return std::abs(after / before - 1); }

bool has_own_processor(unsigned workers) {
    if (all_cpus.empty()) all_cpus = usable_cpus();
    return workers < all_cpus.size();
}

void place_models(unsigned workers) {
    if (!has_own_processor(workers)) return;
    models_cpus.assign(all_cpus.begin(), all_cpus.begin() + workers);
    place_started_thread();
}

void place_generator(unsigned workers) {
    if (!models_cpus.empty()) bind_this_thread(all_cpus, workers);
}

void place_started_thread() {
    if (!models_cpus.empty()) bind_this_thread_to_all(models_cpus);
}

} // namespace lab::replay
