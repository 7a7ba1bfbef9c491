#include <check/driver/jobs.hpp>
#include <check/driver/mutation.hpp>
#include <check/driver/report.hpp>
#include <check/engine/text.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace ekiden::check {
namespace {

struct candidate_mutant {
    mutation change;
    std::string name; // file | source line | change
    std::vector<const model*> reached;
};

/// Returns the memory orders to try at a site: each order that is weaker by one guarantee, and relaxed.
std::vector<order> weaker(const order_site& at) {
    const bool loads = at.what == "load" || at.on_failure;
    const bool stores = at.what == "store";
    if (at.what == "light fence" || at.what == "heavy fence") return {order::relaxed};
    switch (at.how) {
    case order::seq_cst:
        if (loads) return {order::acquire, order::relaxed};
        if (stores) return {order::release, order::relaxed};
        return {order::acq_rel, order::relaxed};
    case order::acq_rel:
        return {order::acquire, order::release};
    case order::acquire:
    case order::consume:
    case order::release:
        return {order::relaxed};
    case order::relaxed:
        break;
    }
    return {};
}

std::string describe(const order_site& at, order becomes) {
    const std::string place = text::short_path(at.file) + " | " + text::source_line(at.file, at.line, 90);
    if (at.what == "light fence" || at.what == "heavy fence") return place + " | left out";
    return place + " | " + at.what + (at.on_failure ? " (failure)" : "") + " "
           + std::string(text::name(at.how)) + " -> " + std::string(text::name(becomes));
}

/// The operators of checkable's atomics have no source location, so all of them would be one mutant.
bool is_mutable(const order_site& at, const std::string& sources) {
    return text::short_path(at.file).starts_with(sources) && !at.file.ends_with("ekiden/check/checkable.hpp");
}

/// Explores each model briefly and collects the sites that it reaches, one per line. Runs in a child process.
std::string discover(const model& m, const std::string& sources) {
    std::ostringstream out;
    for (const bool random : {false, true}) {
        search how;
        how.bound = 2;
        how.old_values = m.how.old_values;
        how.random = random;
        how.executions = random ? 1000 : 10'000;
        how.seconds = 0.3;
        how.discover = true;
        const result r = explore(m, how);
        if (r.failed) return "wrong\n";
        for (const order_site& at : r.found.sites) {
            if (!is_mutable(at, sources)) continue;
            out << "order\t" << at.file << '\t' << at.line << '\t' << at.column << '\t' << at.what << '\t'
                << static_cast<int>(at.how) << '\t' << at.on_failure << '\n';
        }
        for (const std::string& name : r.found.logic) out << "logic\t" << name << '\n';
    }
    return out.str();
}

void take_line(const std::string& line, const model& m, std::map<std::string, candidate_mutant>& all) {
    std::vector<std::string> part;
    std::istringstream in(line);
    for (std::string one; std::getline(in, one, '\t');) part.push_back(one);
    const auto add = [&](const std::string& key, mutation change, std::string name) {
        candidate_mutant& c = all[key];
        c.change = std::move(change);
        c.name = std::move(name);
        if (std::find(c.reached.begin(), c.reached.end(), &m) == c.reached.end()) c.reached.push_back(&m);
    };
    if (part.at(0) == "logic") {
        mutation change;
        change.name = part.at(1);
        add(line, change, "logic | " + part.at(1));
        return;
    }
    mutation change;
    change.at = {part.at(1),
                 static_cast<unsigned>(std::stoul(part.at(2))),
                 static_cast<unsigned>(std::stoul(part.at(3))),
                 part.at(4),
                 static_cast<order>(std::stoi(part.at(5))),
                 part.at(6) == "1"};
    for (const order becomes : weaker(change.at)) {
        change.becomes = becomes;
        add(line + '\t' + std::to_string(static_cast<int>(becomes)), change, describe(change.at, becomes));
    }
}

/// Reads the file of survivors. A line is "name of the mutant | why no program can tell the difference".
std::map<std::string, std::string> explained(const std::string& file) {
    std::map<std::string, std::string> known;
    if (file.empty()) return known;
    std::ifstream in(file);
    if (!in) throw std::invalid_argument("cannot read '" + file + "', which is to explain survivors");
    for (std::string line; std::getline(in, line);) {
        const std::size_t bar = line.rfind(" | ");
        if (line.empty() || line[0] == '#' || bar == std::string::npos) continue;
        known[line.substr(0, bar)] = line.substr(bar + 3);
    }
    return known;
}

/// Returns "model executions" for the first model that fails with the mutant. Empty if no model fails. Runs
/// the models that reach the mutant in turn. Each round gives each model more time, until `seconds` have
/// passed or all searches are complete.
std::string try_mutant(const candidate_mutant& c, double seconds) {
    struct attempt {
        const model* subject;
        bool exhausted;
    };
    std::vector<attempt> attempts;
    for (const model* m : c.reached) attempts.push_back({m, false});
    double left = seconds;
    for (double share = 0.05; left > 0; share *= 4) {
        bool open = false;
        for (attempt& a : attempts) {
            for (const bool random : {false, true}) {
                if (left <= 0 || a.exhausted) break;
                search how;
                how.bound = a.subject->how.preemptions;
                how.old_values = a.subject->how.old_values;
                how.random = random;
                how.seconds = std::min(left, random ? share / 2 : share);
                how.mutant = c.change;
                const result r = explore(*a.subject, how);
                if (r.failed) return full_name(*a.subject) + " " + std::to_string(r.executions);
                left -= r.seconds;
                a.exhausted = r.complete && r.unbounded;
            }
            open = open || !a.exhausted;
        }
        if (!open) break;
    }
    return "-";
}

struct reachable {
    std::vector<candidate_mutant> mutants;
    std::vector<const model*> wrong; // models that fail without a mutant
};

reachable collect(const std::vector<const model*>& chosen, const mutant_search& how) {
    std::vector<const model*> healthy;
    for (const model* m : chosen) {
        if (!m->how.fails && m->how.outcomes.empty()) healthy.push_back(m);
    }
    std::map<std::string, candidate_mutant> all;
    reachable found;
    run_jobs(
        healthy.size(), how.width, [&](std::size_t i) { return discover(*healthy[i], how.sources); },
        [&](std::size_t i, const std::string& text) {
            if (text == "wrong\n") {
                found.wrong.push_back(healthy[i]);
                return;
            }
            std::istringstream in(text);
            for (std::string line; std::getline(in, line);) take_line(line, *healthy[i], all);
        });
    // A model that reaches few sites is specific to them, so it is tried first.
    std::map<const model*, std::size_t> passes;
    for (const auto& [key, c] : all) {
        for (const model* m : c.reached) ++passes[m];
    }
    for (auto& [key, c] : all) {
        std::sort(c.reached.begin(), c.reached.end(), [&](const model* a, const model* b) {
            return std::tie(passes[a], a->name) < std::tie(passes[b], b->name);
        });
        found.mutants.push_back(std::move(c));
    }
    return found;
}

} // namespace

int score_mutants(const std::vector<const model*>& chosen, const mutant_search& how) {
    const std::map<std::string, std::string> known = explained(how.survivors);
    auto [mutants, wrong] = collect(chosen, how);
    for (const model* m : wrong)
        std::printf("%s is wrong without a mutant, and would notice each: mend that first\n",
                    full_name(*m).c_str());
    if (!wrong.empty()) return 1;
    std::erase_if(mutants,
                  [&](const candidate_mutant& c) { return c.name.find(how.only) == std::string::npos; });
    if (mutants.empty())
        throw std::invalid_argument("there is no mutant"
                                    + (how.only.empty() ? "" : " with '" + how.only + "'"));
    std::printf("%zu mutants\n", mutants.size());
    std::size_t killed = 0;
    std::size_t equivalent = 0;
    std::vector<std::string> survivors;
    // A mutant that is listed as equivalent gets little time. Most others are killed quickly. The long limit
    // is for a mutant that many models of whole pools reach, but only one of them kills.
    const auto seconds = [&](const candidate_mutant& c) {
        return how.deep ? 600.0 : known.contains(c.name) ? 2.0 : 240.0;
    };
    run_jobs(
        mutants.size(), how.width, [&](std::size_t i) { return try_mutant(mutants[i], seconds(mutants[i])); },
        [&](std::size_t i, const std::string& text) {
            const auto reason = known.find(mutants[i].name);
            const bool dead = text != "-"; // a process that died has killed the mutant, too
            if (dead) ++killed;
            std::printf("%-9s%s%s%s\n", dead ? "killed" : "SURVIVED", mutants[i].name.c_str(),
                        dead ? " | " : "", dead ? text.c_str() : "");
            std::fflush(stdout);
            if (dead && reason != known.end())
                std::printf("         but %s calls it equivalent\n", how.survivors.c_str());
            if (dead) return;
            if (reason != known.end())
                ++equivalent;
            else
                survivors.push_back(mutants[i].name);
        });
    const std::size_t counted = mutants.size() - equivalent;
    std::printf("%zu mutants, %zu killed, %zu equivalent, %zu unexplained: score %.1f%%\n", mutants.size(),
                killed, equivalent, survivors.size(),
                counted == 0 ? 0.0 : 100.0 * static_cast<double>(killed) / static_cast<double>(counted));
    for (const std::string& name : survivors) std::printf("survivor: %s\n", name.c_str());
    return survivors.empty() ? 0 : 1;
}

} // namespace ekiden::check
