#include <lab/harness/table.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace lab {
namespace {

std::string three_digits(double value) {
    char text[32];
    const double size = std::fabs(value);
    const int decimals = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2;
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

using row = std::vector<std::string>;

// Returns the number of characters, not bytes.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padded(const std::string& text, std::size_t to, bool left) {
    const std::string space(to - std::min(to, width(text)), ' ');
    return left ? text + space : space + text;
}

// The first column is aligned left, figures are aligned right. Cells beyond the columns of the head are
// remarks.
std::string render(const row& head, const std::vector<row>& rows, const std::vector<std::string>& colours) {
    std::vector<std::size_t> widths;
    for (std::size_t c = 0; c < head.size(); ++c) {
        widths.push_back(width(head[c]));
        for (const row& r : rows)
            if (c < r.size() && r.size() >= head.size()) widths[c] = std::max(widths[c], width(r[c]));
        for (const row& r : rows)
            if (c == 0) widths[0] = std::max(widths[0], width(r[0]));
    }
    std::string text;
    const auto line = [&](const row& r, const std::string& colour) {
        text += "  " + colour;
        for (std::size_t c = 0; c < r.size(); ++c)
            text +=
                (c ? "  " : "") + (r.size() < head.size() && c > 0 ? r[c] : padded(r[c], widths[c], c == 0));
        while (text.back() == ' ') text.pop_back();
        text += colour.empty() ? "\n" : "\033[0m\n";
    };
    line(head, "");
    for (std::size_t i = 0; i < rows.size(); ++i) line(rows[i], colours[i]);
    return text;
}

std::string published_value(const experiment& e, const cell_result& cell, const figure& f) {
    for (const published& p : e.source)
        if (p.implementation == cell.what.name && p.variant == cell.variant && p.figure == f.name)
            return readable(p.value, f.unit);
    return "";
}

// Returns false if a figure already shows the CPU time, for example per task.
bool shows_total_cpu(const experiment& e) {
    return std::none_of(e.figures.begin(), e.figures.end(),
                        [](const figure& f) { return f.title == "CPU time"; });
}

// Returns the figures to show beside the compared one, if some cell has them. Returns none if they do not fit
// on a line.
std::vector<figure> other_figures(const experiment& e, const std::vector<const cell_result*>& cells,
                                  const figure& compared) {
    std::vector<figure> some = e.figures;
    std::erase_if(some, [&](const figure& f) {
        return f.name == compared.name
               || std::none_of(cells.begin(), cells.end(),
                               [&](const cell_result* cell) { return cell->figure(f.name).has_value(); });
    });
    return some.size() <= 5 ? some : std::vector<figure>{};
}

row describe(const experiment& e, const cell_result& cell, const figure& f,
             const std::optional<summary>& ours, const std::vector<figure>& others, bool with_source) {
    if (cell.status != cell_result::state::ok)
        return {cell.what.title, std::string(to_string(cell.status)) + ": " + cell.reason};
    const auto s = cell.figure(f.name);
    if (!s) return {cell.what.title, "no figure"};
    row r{cell.what.title, readable(s->median, f.unit),
          readable(s->lower_quartile, f.unit) + " .. " + readable(s->upper_quartile, f.unit),
          ours && ours->median > 0 ? three_digits(s->median / ours->median) + "x" : ""};
    for (const figure& other : others) {
        const auto o = cell.figure(other.name);
        r.push_back(o ? readable(o->median, other.unit) : "");
    }
    if (shows_total_cpu(e))
        r.push_back(readable(cell.of_usage([](const usage& u) { return u.cpu_s(); })->median, "s"));
    r.push_back(
        readable(cell.of_usage([](const usage& u) { return u.voluntary_switches; })->median, "count"));
    r.push_back(
        readable(cell.of_usage([](const usage& u) { return u.involuntary_switches; })->median, "count"));
    if (with_source) r.push_back(published_value(e, cell, f));
    return r;
}

std::string one_table(const experiment_result& result, const variant& v, bool pinned, bool colour) {
    const experiment& e = result.what;
    const figure& f = primary_figure(e, v.name);
    std::vector<const cell_result*> cells;
    for (const cell_result& cell : result.cells)
        if (cell.variant == v.name && cell.pinned == pinned) cells.push_back(&cell);
    if (cells.empty()) return "";
    std::optional<summary> ours;
    for (const cell_result* cell : cells)
        if (cell->what.name == "ekiden") ours = cell->figure(f.name);
    const bool with_source = std::any_of(cells.begin(), cells.end(), [&](const cell_result* cell) {
        return !published_value(e, *cell, f).empty();
    });

    row head{"", f.title, "quartiles", "vs ekiden"};
    const std::vector<figure> others = other_figures(e, cells, f);
    for (const figure& other : others) head.push_back(other.title);
    if (shows_total_cpu(e)) head.push_back("CPU time");
    head.insert(head.end(), {"waits", "preempted"});
    if (with_source) head.push_back("source");
    std::vector<row> rows;
    std::vector<std::string> colours;
    for (const cell_result* cell : cells) {
        rows.push_back(describe(e, *cell, f, ours, others, with_source));
        const bool failed = cell->status == cell_result::state::failed;
        const bool grey = cell->status != cell_result::state::ok && !failed;
        const bool own = cell->what.name.starts_with("ekiden");
        colours.push_back(!colour ? "" : failed ? "\033[31m" : grey ? "\033[2m" : own ? "\033[1m" : "");
    }
    return "  " + v.title + (pinned ? ", each thread bound to one processor" : "") + "\n"
           + render(head, rows, colours);
}

} // namespace

std::string readable(double value, const std::string& unit) {
    struct step {
        const char* unit;
        double factor;
    };
    static constexpr std::array time{step{"ns", 1e-9}, step{"us", 1e-6}, step{"ms", 1e-3}, step{"s", 1.0}};
    if (unit == "share") return three_digits(value * 100) + " %";
    for (const step& given : time) {
        if (unit != given.unit) continue;
        const double seconds = value * given.factor;
        const step* best = &time.front();
        for (const step& s : time)
            if (seconds >= s.factor * 0.9995) best = &s;
        return three_digits(seconds / best->factor) + " " + best->unit;
    }
    return unit == "count" ? std::to_string(std::llround(value)) : three_digits(value);
}

std::string tables(const experiment_result& result, bool colour) {
    std::string text;
    for (const bool pinned : {false, true})
        for (const variant& v : result.what.variants)
            if (const std::string table = one_table(result, v, pinned, colour); !table.empty())
                text += (text.empty() ? "" : "\n") + table;
    return text;
}

} // namespace lab
