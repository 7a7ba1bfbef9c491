#include <lab/harness/busy.hpp>
#include <lab/harness/driver.hpp>
#include <lab/harness/interrupt.hpp>
#include <lab/harness/machine.hpp>
#include <lab/harness/progress_line.hpp>
#include <lab/harness/results_file.hpp>
#include <lab/harness/statistics.hpp>
#include <lab/harness/table.hpp>
#include <lab/replay/command_line.hpp>
#include <lab/replay/facts.hpp>
#include <lab/replay/forecast.hpp>
#include <lab/replay/point.hpp>
#include <lab/replay/request_trace.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

namespace lab::replay {
namespace {

constexpr const char* fastest = "as fast as possible";

/// How much to measure.
struct effort {
    const char* name;
    lab::scale scale;
    unsigned processes;   // number of processes for each model at each point
    std::size_t requests; // smallest number of requests at a point
    double seconds;       // smallest duration of a point
    // The rates of the points, as shares of the best rate among the models that keep the promise.
    std::vector<double> shares;
    unsigned search; // number of steps in the search for the highest rate that a model keeps up with
};

effort usual() { return {"usual", scale::quick, 5, 10'000, 2, {0.5, 0.8}, 3}; }
effort quick() { return {"quick", scale::quick, 3, 2'000, 0.5, {0.5, 0.8}, 2}; }
effort full() { return {"full", scale::full, 7, 20'000, 4, {0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95}, 4}; }
effort smoke() { return {"smoke", scale::smoke, 1, 100, 0, {0.5}, 1}; }

std::string text_of(double rate) {
    return std::to_string(static_cast<std::uint64_t>(std::llround(rate))) + " requests/s";
}

class replaying {
public:
    /// The cells read `trace` from `trace_path`. `cores` is the size of the machine to predict for. 0: none.
    replaying(const request_trace& trace, std::string trace_path, effort how, double own_rate, promise need,
              unsigned workers, unsigned cores, results_file& results)
        : trace_(trace), trace_path_(std::move(trace_path)), how_(std::move(how)), own_rate_(own_rate),
          need_(need), workers_(workers), cores_(cores), results_(results) {
        for (const experiment& e : experiments())
            if (e.name == "replay") experiment_ = e;
        turns_per_us_ = calibrate_turns_per_us();
        const trace_facts known = describe(trace_);
        mean_s_ = (known.mean_service_us + known.mean_block_us) / 1e6;
    }

    /// Returns false if interrupted, if a cell failed, or if the results could not be written.
    bool run() { return measure_all() && (cores_ == 0 || foretell()) && !has_failed_; }

private:
    bool measure_all() {
        if (!measure_fastest()) return false;
        std::vector<double> rates{own_rate_};
        for (const double share : how_.shares) rates.push_back(rounded(share * best_));
        std::sort(rates.begin(), rates.end());
        rates.erase(std::unique(rates.begin(), rates.end()), rates.end());
        for (const double rate : rates)
            if (!measure_at(rate)) return false;
        return search();
    }

    /// Simulates the measured points, and the same on `cores_` processors, in virtual time.
    bool foretell() {
        const bool has_own = has_own_processor(workers_);
        const virtual_machine here{.processors = has_own ? workers_ : usable_cores(),
                                   .workers = workers_,
                                   .has_clients_processor = has_own};
        const other_machine other{.cores = cores_,
                                  .own_rate = own_rate_,
                                  .shares = how_.shares,
                                  .requests_at = [this](double rate) { return requests_at(rate); }};
        std::cerr << "  playing it in virtual time" << std::endl;
        nlohmann::json found = forecast(trace_, measured_, here, other, [] { return !interrupted(); });
        std::cout << "\nPredicted by playing the trace in virtual time with the costs measured here; on "
                  << here.processors << " processors, as measured:\n"
                  << describe_errors(found["predicted"]) << std::flush;
        results_.head()["replay"].update(found);
        return results_.write() && !interrupted();
    }

    /// Measures the models that `only` names, or all models, at a rate. If `is_kept`, the results become a
    /// table. Returns false if interrupted, or if the results could not be written.
    bool measure(const std::string& title, double rate, std::vector<std::string> only, unsigned processes,
                 bool is_kept, experiment_result& found) {
        experiment e = experiment_;
        e.variants = {{.name = title,
                       .title = title,
                       .primary = rate > 0 ? "p99_us" : "rate",
                       .headline = rate == own_rate_ ? "at its own rate" : "",
                       .only = std::move(only)}};
        const experiment one = e;
        if (is_kept) {
            variants_.push_back(e.variants.front());
            e.variants = variants_; // the file describes all variants that it contains
        }
        const plan how{.name = how_.name,
                       .scale = how_.scale,
                       .workers = workers_,
                       .rounds = processes,
                       .repetitions = 1,
                       .pinned_too = false,
                       .limit_s = limit_s(rate),
                       .turns_per_us = turns_per_us_,
                       .input = to_input(trace_path_, rate, requests_at(rate))};
        bool well = true;
        found = run_experiment(one, how,
                               {.before = [&](const cell_result& cell, unsigned round,
                                              double share) { progress_.show(title, cell, round, share); },
                                .after =
                                    [&](const experiment&, std::span<const cell_result> table) {
                                        if (!is_kept) return;
                                        results_.put(e, table);
                                        well = results_.write_if_due() && well;
                                    }});
        progress_.clear();
        for (const cell_result& cell : found.cells)
            has_failed_ = has_failed_ || cell.status == cell_result::state::failed;
        if (is_kept) remember(found, rate);
        if (is_kept) std::cout << '\n' << tables(found, isatty(STDOUT_FILENO) != 0) << std::flush;
        return well && !interrupted();
    }

    void remember(const experiment_result& found, double rate) {
        for (const cell_result& cell : found.cells) {
            if (cell.status != cell_result::state::ok || cell.repetitions.empty()) continue;
            measured_point at{
                .model = cell.what.name, .rate = rate, .requests = requests_at(rate), .figures = {}};
            for (const repetition& r : cell.repetitions)
                for (const auto& [name, value] : r.figures)
                    at.figures.try_emplace(name, cell.figure(name)->median);
            measured_.push_back(std::move(at));
        }
    }

    [[nodiscard]] std::size_t requests_at(double rate) const {
        constexpr double most = 400'000;
        constexpr double least = 100;
        constexpr double longest_s = 20; // limit of the arrivals, and of the work in one thread
        double count = std::max(static_cast<double>(how_.requests), rate * how_.seconds);
        if (rate > 0) count = std::min(count, rate * longest_s);
        if (mean_s_ > 0) count = std::min(count, longest_s / mean_s_);
        return static_cast<std::size_t>(std::clamp(count, least, most));
    }

    /// Returns the time limit of a process, well above what its requests can take.
    [[nodiscard]] double limit_s(double rate) const {
        const auto count = static_cast<double>(requests_at(rate));
        return 60 + 3 * count * mean_s_ + (rate > 0 ? 2 * count / rate : 0);
    }

    /// Measures the highest throughput of each model, and finds the best among the models that keep the
    /// promise.
    bool measure_fastest() {
        experiment_result found;
        if (!measure(fastest, 0, {}, how_.processes, true, found)) return false;
        for (const cell_result& cell : found.cells) {
            const auto rate = cell.figure("rate");
            if (!rate) continue;
            capacity_[cell.what.name] = rate->median;
            if (keeps(cell)) {
                keepers_.push_back(cell.what.name);
                best_ = std::max(best_, rate->median);
            }
        }
        if (best_ == 0) {
            std::cerr << "ekiden-lab: replay: no model was right\n";
            return false;
        }
        return true;
    }

    [[nodiscard]] bool keeps(const cell_result& cell) const {
        const auto made = cell.figure("promise");
        return made && made->median >= static_cast<double>(need_);
    }

    /// Returns the models that may keep up.
    [[nodiscard]] std::vector<std::string> those_above(double rate) const {
        std::vector<std::string> some;
        for (const auto& [name, capacity] : capacity_)
            if (capacity > rate) some.push_back(name);
        return some;
    }

    bool measure_at(double rate) {
        const std::vector<std::string> able = those_above(rate);
        if (able.empty()) return true; // the report says that no model keeps up
        experiment_result found;
        if (!measure(text_of(rate), rate, able, how_.processes, true, found)) return false;
        for (const cell_result& cell : found.cells) {
            const auto sustained = cell.figure("sustained");
            if (!sustained) continue;
            if (sustained->median >= 0.5)
                sustained_[cell.what.name] = std::max(sustained_[cell.what.name], rate);
            else if (const auto [known, is_new] = unsustained_.try_emplace(cell.what.name, rate); !is_new)
                known->second = std::min(known->second, rate);
        }
        return true;
    }

    /// Narrows down the highest rate that each model keeps up with, for models that keep the promise.
    bool search() {
        nlohmann::json saturation = nlohmann::json::object();
        for (const std::string& name : keepers_) {
            double low = sustained_.contains(name) ? sustained_[name] : capacity_[name] / 8;
            // The model once failed at a lower rate, but keeps up here. So the failure was an accident.
            const auto failed = unsustained_.find(name);
            double high = failed != unsustained_.end() && failed->second > low
                              ? failed->second
                              : std::max(capacity_[name] * 1.05, low);
            bool is_sure = sustained_.contains(name);
            for (unsigned step = 0; step < how_.search && high > low * 1.05; ++step) {
                const double rate = std::sqrt(low * high);
                experiment_result found;
                if (!measure("search: " + text_of(rate), rate, {name}, 1, false, found)) return false;
                const auto sustained = found.cells.front().figure("sustained");
                if (sustained && sustained->median >= 0.5) {
                    low = rate;
                    is_sure = true;
                } else {
                    high = rate;
                }
            }
            saturation[name] = {{"sustained", is_sure ? low : 0.0}, {"not", high}};
        }
        results_.head()["replay"]["saturation"] = saturation;
        return results_.write();
    }

    const request_trace& trace_;
    std::string trace_path_;
    effort how_;
    double own_rate_;
    promise need_;
    unsigned workers_;
    unsigned cores_;
    results_file& results_;
    progress_line progress_;
    experiment experiment_;
    double mean_s_ = 0; // of a request, including its waiting
    double turns_per_us_ = 0;
    std::vector<variant> variants_;
    std::vector<measured_point> measured_;
    // For each model: requests served per second, as fast as possible.
    std::map<std::string, double> capacity_;
    std::map<std::string, double> sustained_;
    std::map<std::string, double> unsustained_;
    std::vector<std::string> keepers_; // the models that guarantee what is needed
    double best_ = 0;
    bool has_failed_ = false; // whether a cell has failed
};

nlohmann::json to_json(const request_trace& trace, const trace_facts& f, unsigned workers) {
    return {{"requests", trace.requests.size()},
            {"keys", trace.keys},
            {"remark", trace.remark},
            {"seconds", static_cast<double>(trace.length_ns()) / 1e9},
            {"rate", f.rate},
            {"peak_rate", f.peak_rate},
            {"mean_service_us", f.mean_service_us},
            {"mean_block_us", f.mean_block_us},
            {"blocking_share", f.blocking_share},
            {"arrival_cv2", f.arrival_cv2},
            {"service_cv2", f.service_cv2},
            {"hottest_share", f.hottest_share},
            {"hottest_us", f.hottest_us},
            {"bound_of_hottest_key", bound_of_hottest_key(f)},
            {"bound_of_processors", bound_of_processors(f, workers)}};
}

nlohmann::json describe_begin(const effort& how, unsigned workers, nlohmann::json replay) {
    return {{"schema", results_schema},
            {"workers", workers},
            {"run",
             {{"scale", how.name},
              {"rounds", how.processes},
              {"repetitions", 1},
              {"experiments", {"replay"}},
              {"seconds", 0.0},
              {"finished", false}}},
            {"machine", describe_machine(how.scale)},
            {"replay", std::move(replay)}};
}

/// Adds "name=20us" to `classes`. Throws std::invalid_argument.
void add_class(trace_format& format, const std::string& text) {
    const std::size_t sign = text.rfind('=');
    if (sign == std::string::npos || sign == 0)
        throw std::invalid_argument("--class '" + text + "': allowed is NAME=TIME, such as search=20us");
    format.class_ns[text.substr(0, sign)] = parse_duration(text.substr(sign + 1));
}

/// The lowest rate that can be replayed, in requests per second.
constexpr double slowest = 1;

/// The request on the command line.
struct request_of_user {
    std::string path, out, need = "order";
    request_trace trace;
    effort how;
    double rate = 0;
    unsigned workers = 0;
    unsigned cores = 0; // number of processors to predict for; 0: none
};

/// Reads the command line and the trace. Returns an exit status if the program must end now.
std::optional<int> read(int argc, char** argv, request_of_user& asked) {
    CLI::App app("Plays a trace of requests through each way to process them, and measures it.",
                 "ekiden-lab replay");
    std::string service;
    std::vector<std::string> classes;
    trace_format format;
    bool is_quick = false, is_full = false, is_smoke = false;
    app.add_option("file", asked.path, "the trace: CSV, or JSON lines")->required();
    app.add_option("--rate", asked.rate, "requests a second instead of the trace's own rate")
        ->check(CLI::Range(slowest, 1e9));
    app.add_option("--need", asked.need, "what your requests for one key need")
        ->check(CLI::IsMember({"order", "exclusive", "nothing"}));
    app.add_option("--columns", format.columns,
                   "of a file without names, such as arrival:us,key,service:ns,-");
    app.add_option("--service", service, "time of work of each request, for a trace without, such as 20us");
    app.add_option("--class", classes, "time of work of a class: NAME=TIME; may be given again");
    app.add_option("--workers", asked.workers,
                   "threads of each model; with fewer than processors, one is the clients' own")
        ->check(CLI::Range(1, 1024));
    app.add_option("--cores", asked.cores,
                   "predict also what each model would do on so many processors, in virtual time")
        ->check(CLI::Range(1, 1024));
    app.add_option("--out", asked.out, "where the results go as JSON (default: results/replay-<file>.json)");
    CLI::App* efforts = app.add_option_group("effort")->require_option(0, 1);
    efforts->add_flag("--quick", is_quick, "few and short runs: a first look");
    efforts->add_flag("--full", is_full, "many rates, long runs");
    efforts->add_flag("--smoke", is_smoke, "tiny sizes: proves that everything works");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    try {
        if (!service.empty()) format.service_ns = parse_duration(service);
        for (const std::string& text : classes) add_class(format, text);
        asked.trace = read_trace(asked.path, format);
    } catch (const std::exception& error) { // the input is wrong, so nothing is measured
        std::cerr << "ekiden-lab: replay: " << error.what() << '\n';
        return 2;
    }
    asked.how = is_smoke ? smoke() : is_quick ? quick() : is_full ? full() : usual();
    if (asked.rate == 0) asked.rate = asked.trace.rate();
    if (!(asked.rate >= slowest)) { // also true if it is a NaN
        std::cerr << "ekiden-lab: replay: " << asked.path << " has " << asked.rate
                  << " requests a second; --rate replays it faster, from " << slowest << " a second\n";
        return 2;
    }
    // The clients get their own processor if at least two are left for the models.
    if (asked.workers == 0)
        asked.workers = usable_cores() > 2 ? usable_cores() - 1 : std::max(usable_cores(), 2U);
    if (asked.out.empty())
        asked.out = "results/replay-" + std::filesystem::path(asked.path).stem().string() + ".json";
    return std::nullopt;
}

promise promise_of(const std::string& need) {
    return need == "order" ? promise::order : need == "exclusive" ? promise::exclusive : promise::nothing;
}

} // namespace

int command_line(int argc, char** argv) {
    request_of_user asked;
    if (const auto status = read(argc, argv, asked)) return *status;
    catch_interrupts();
    nlohmann::json facts = to_json(asked.trace, describe(asked.trace), asked.workers);
    facts["file"] = asked.path;
    facts["need"] = asked.need;
    facts["asked_rate"] = asked.rate;
    std::error_code ignored;
    if (std::filesystem::equivalent(asked.out, asked.path, ignored)) {
        std::cerr << "ekiden-lab: replay: --out is the trace itself\n";
        return 2;
    }
    if (std::filesystem::is_regular_file(asked.out, ignored))
        std::filesystem::remove(asked.out, ignored); // removes the results of an earlier replay
    results_file results(asked.out, describe_begin(asked.how, asked.workers, std::move(facts)));
    if (!results.write()) return 1;
    // The file for the cells. They need not understand the user's format.
    const std::filesystem::path plain =
        std::filesystem::absolute(asked.out + "." + std::to_string(getpid()) + ".trace.csv");
    {
        std::ofstream file(plain);
        write_trace(file, asked.trace);
        if (!file.flush()) {
            std::cerr << "ekiden-lab: replay: cannot write '" << plain.string() << "'\n";
            return 1;
        }
    }
    std::cout << "ekiden-lab: replay of " << asked.path << ": " << asked.trace.requests.size()
              << " requests for " << asked.trace.keys << " keys, " << text_of(asked.trace.rate())
              << (asked.trace.remark.empty() ? "" : "; " + asked.trace.remark) << '\n'
              << std::flush;
    const double begin_s = usage_now().wall_s;
    replaying run(asked.trace, plain.string(), asked.how, asked.rate, promise_of(asked.need), asked.workers,
                  asked.cores, results);
    const bool well = run.run();
    std::filesystem::remove(plain, ignored);
    const bool finished = !interrupted();
    results.head()["run"]["finished"] = finished;
    results.head()["run"]["seconds"] = usage_now().wall_s - begin_s;
    if (!results.write()) return 1;
    std::cout << (finished ? "\nresults: " : "\nekiden-lab: interrupted; what was measured before is in ")
              << asked.out << std::endl;
    return !finished ? 130 : well ? 0 : 1;
}

} // namespace lab::replay
