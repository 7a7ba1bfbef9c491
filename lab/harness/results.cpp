#include <lab/harness/results.hpp>

#include <algorithm>

namespace lab {
namespace {

nlohmann::json to_json(const summary& s) {
    return {{"count", s.count},
            {"median", s.median},
            {"lower_quartile", s.lower_quartile},
            {"upper_quartile", s.upper_quartile},
            {"minimum", s.minimum},
            {"maximum", s.maximum}};
}

nlohmann::json to_json(const repetition& r) {
    return {{"wall_s", r.used.wall_s},
            {"user_s", r.used.user_s},
            {"system_s", r.used.system_s},
            {"voluntary_switches", r.used.voluntary_switches},
            {"involuntary_switches", r.used.involuntary_switches},
            {"figures", r.figures}};
}

// Adds up series, such as histograms, over the repetitions.
nlohmann::json series_of(const cell_result& cell) {
    std::map<std::string, std::vector<double>> sums;
    for (const repetition& r : cell.repetitions)
        for (const auto& [name, values] : r.series) {
            std::vector<double>& sum = sums[name];
            sum.resize(std::max(sum.size(), values.size()));
            for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
        }
    return sums;
}

} // namespace

std::optional<summary> cell_result::figure(const std::string& name) const {
    std::vector<double> values;
    for (const repetition& r : repetitions)
        if (const auto found = r.figures.find(name); found != r.figures.end())
            values.push_back(found->second);
    if (values.empty() || status != state::ok) return std::nullopt;
    return summarise(std::move(values));
}

std::optional<summary> cell_result::of_usage(double (*part)(const usage&)) const {
    std::vector<double> values;
    for (const repetition& r : repetitions) values.push_back(part(r.used));
    if (values.empty() || status != state::ok) return std::nullopt;
    return summarise(std::move(values));
}

const char* to_string(cell_result::state s) {
    switch (s) {
    case cell_result::state::ok:
        return "ok";
    case cell_result::state::failed:
        return "FAILED";
    case cell_result::state::not_installed:
        return "not installed";
    case cell_result::state::not_applicable:
        return "not applicable";
    }
    return "?";
}

const figure& primary_figure(const experiment& e, const std::string& variant) {
    const auto v = std::find_if(e.variants.begin(), e.variants.end(),
                                [&](const lab::variant& x) { return x.name == variant; });
    const auto f = std::find_if(e.figures.begin(), e.figures.end(), [&](const lab::figure& x) {
        return v != e.variants.end() && x.name == v->primary;
    });
    return f != e.figures.end() ? *f : e.figures.front();
}

nlohmann::json to_json(const experiment& e, const cell_result& cell) {
    nlohmann::json j = {{"implementation", cell.what.name},
                        {"title", cell.what.title},
                        {"note", cell.what.note},
                        {"ranked", cell.what.ranked},
                        {"manner", cell.what.manner},
                        {"variant", cell.variant},
                        {"pinned", cell.pinned},
                        {"status", to_string(cell.status)},
                        {"reason", cell.reason},
                        {"scale", cell.scale},
                        {"rounds", cell.rounds},
                        {"date", cell.date}};
    if (cell.status != cell_result::state::ok) return j;
    j["figures"] = nlohmann::json::object();
    for (const figure& f : e.figures)
        if (const auto s = cell.figure(f.name)) j["figures"][f.name] = to_json(*s);
    j["usage"] = {
        {"wall_s", to_json(*cell.of_usage([](const usage& u) { return u.wall_s; }))},
        {"cpu_s", to_json(*cell.of_usage([](const usage& u) { return u.cpu_s(); }))},
        {"voluntary_switches", to_json(*cell.of_usage([](const usage& u) { return u.voluntary_switches; }))},
        {"involuntary_switches",
         to_json(*cell.of_usage([](const usage& u) { return u.involuntary_switches; }))}};
    j["series"] = series_of(cell);
    j["repetitions"] = nlohmann::json::array();
    for (const repetition& r : cell.repetitions) j["repetitions"].push_back(to_json(r));
    return j;
}

nlohmann::json to_json(const experiment& e) {
    nlohmann::json j = {
        {"name", e.name}, {"title", e.title}, {"about", e.about}, {"source_note", e.source_note}};
    for (const figure& f : e.figures)
        j["figures"].push_back(
            {{"name", f.name}, {"title", f.title}, {"unit", f.unit}, {"lower_is_better", f.lower_is_better}});
    for (const variant& v : e.variants)
        j["variants"].push_back({{"name", v.name},
                                 {"title", v.title},
                                 {"primary", primary_figure(e, v.name).name},
                                 {"headline", v.headline}});
    j["source"] = nlohmann::json::array();
    for (const published& p : e.source)
        j["source"].push_back({{"implementation", p.implementation},
                               {"variant", p.variant},
                               {"figure", p.figure},
                               {"value", p.value},
                               {"label", p.label}});
    return j;
}

} // namespace lab
