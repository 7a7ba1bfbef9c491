#include <check/driver/command_line.hpp>
#include <check/driver/jobs.hpp>
#include <check/driver/mutation.hpp>
#include <check/driver/report.hpp>
#include <check/engine/explorer.hpp>
#include <check/engine/text.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>

namespace ekiden::check {
namespace {

/// Returns whether `wanted` is the model's name, its folder, or folder/name.
bool matches(const model& m, const std::string& wanted) {
    return wanted == m.name || wanted == m.folder || wanted == full_name(m);
}

std::vector<const model*> select(const std::vector<std::string>& wanted) {
    if (models().empty()) throw std::invalid_argument("no model is linked into this program");
    std::vector<const model*> chosen;
    for (const model& m : models()) {
        if (wanted.empty()) chosen.push_back(&m);
        for (const std::string& name : wanted) {
            if (matches(m, name)) chosen.push_back(&m);
        }
    }
    for (const std::string& name : wanted) {
        const bool known =
            std::any_of(chosen.begin(), chosen.end(), [&](const model* m) { return matches(*m, name); });
        if (!known) throw std::invalid_argument("no model or folder is named '" + name + "'; see --list");
    }
    return chosen;
}

int check_all(const std::vector<const model*>& chosen, const effort& how, unsigned width) {
    std::printf("%-52s%-7s%-9s%4s%13s%10s\n", "model", "", "preempt.", "old", "executions", "time");
    std::uint64_t executions = 0;
    double seconds = 0;
    std::size_t wrong = 0;
    run_jobs(
        chosen.size(), width, [&](std::size_t i) { return pack(judge(*chosen[i], how)); },
        [&](std::size_t i, const std::string& text) {
            verdict v = unpack(text);
            if (v.text.empty()) v.text = full_name(*chosen[i]) + ": WRONG, its process died";
            std::puts(v.text.c_str());
            std::fflush(stdout);
            executions += v.executions;
            seconds += v.seconds;
            if (!v.good) ++wrong;
        });
    std::printf("%zu models, %zu wrong; %.1f million executions, %.1f million per minute and core\n",
                chosen.size(), wrong, static_cast<double>(executions) / 1e6,
                seconds > 0 ? static_cast<double>(executions) / seconds * 60 / 1e6 : 0.0);
    return wrong == 0 ? 0 : 1;
}

int command(int argc, char** argv, const program& about) {
    CLI::App app(std::string(about.purpose) + ": every schedule, value and order up to a bound.");
    std::vector<std::string> wanted;
    std::string replay_text;
    std::string mutant;
    std::string survivors(about.survivors);
    bool deep = false;
    bool mutants = false;
    bool list = false;
    double seconds = 20;
    unsigned processes = 2;
    app.add_option("model", wanted, "models or folders (default: all)");
    app.add_flag("--deep", deep,
                 "two more preemptions and old values, ten minutes a model, ten million random executions");
    app.add_flag("--mutants", mutants,
                 "weaken each memory order and switch each logic mutant; print the score");
    app.add_option("--mutant", mutant, "the same for those whose line in the report contains this");
    app.add_option("--survivors", survivors,
                   "mutants that may survive, one a line: 'its line in the report | the reason'");
    app.add_flag("--list", list, "print the models' names, one a line");
    app.add_option("--replay", replay_text, "run one execution of one model again and print it");
    app.add_option("--seconds", seconds, "processor time for one model, at most")->check(CLI::PositiveNumber);
    app.add_option("--processes", processes, "models explored at once")->check(CLI::Range(1U, 256U));
    CLI11_PARSE(app, argc, argv);
    const std::vector<const model*> chosen = select(wanted);
    if (list) {
        for (const model* m : chosen) std::puts(full_name(*m).c_str());
        return 0;
    }
    if (!replay_text.empty()) {
        if (chosen.size() != 1) throw std::invalid_argument("--replay needs exactly one model");
        const verdict v = judge_replay(*chosen[0], replay_text);
        std::puts(v.text.c_str());
        return v.good ? 0 : 1;
    }
    if (mutants || !mutant.empty()) {
        const mutant_search search{mutant, std::string(about.sources), survivors, processes, deep};
        return score_mutants(chosen, search);
    }
    effort how;
    how.seconds = deep ? std::max(seconds, 600.0) : seconds;
    how.more = deep ? 2 : 0;
    if (deep) how.random = 10'000'000;
    return check_all(chosen, how, processes);
}

} // namespace

void run(int argc, char** argv, const program& about) {
    int status = 2;
    try {
        require_own_statics();
        if (!models().empty()) text::set_root(models().front().root);
        status = command(argc, argv, about);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", std::string(about.name).c_str(), error.what());
    }
    std::fflush(stdout);
    std::cout.flush();
    std::_Exit(status); // static objects of the models must not be destroyed: see driver/jobs.cpp
}

} // namespace ekiden::check
