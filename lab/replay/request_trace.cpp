#include <lab/replay/request_trace.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace lab::replay {
namespace {

constexpr double most_ns = 9007199254740992.0; // 2^53: what a double, and so JSON, holds without loss
constexpr double longest_gap_ns = 3600e9;

struct unit {
    std::string_view name;
    double ns;
};
constexpr std::array<unit, 4> units{{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};

const unit* find_unit(std::string_view name) {
    const auto found =
        std::find_if(units.begin(), units.end(), [&](const unit& u) { return u.name == name; });
    return found == units.end() ? nullptr : &*found;
}

enum class meaning { skipped, arrival, key, service, klass, block };

struct column {
    meaning what = meaning::skipped;
    double ns = 1; // what one unit of it is
};

/// A column's name, with its unit behind `separator`: "arrival_us", "arrival:us". Names that mean nothing are
/// skipped; nothing is returned if the name is one that wants a unit and has none that is known.
std::optional<column> column_of(std::string_view name, char separator) {
    if (name == "key") return column{meaning::key};
    if (name == "class") return column{meaning::klass};
    constexpr std::array<std::pair<std::string_view, meaning>, 3> timed{
        {{"arrival", meaning::arrival}, {"service", meaning::service}, {"block", meaning::block}}};
    for (const auto& [word, what] : timed) {
        if (!name.starts_with(word)) continue;
        const std::string_view rest = name.substr(word.size());
        if (!rest.empty() && rest[0] != separator) continue; // another word that begins alike
        const unit* const of = rest.empty() ? nullptr : find_unit(rest.substr(1));
        if (!of) return std::nullopt;
        return column{what, of->ns};
    }
    return column{};
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
        text.remove_suffix(1);
    return text;
}

/// What a line says, before anything is checked against the lines before it.
struct record {
    double arrival_ns = -1;
    double service_ns = -1;
    double block_ns = 0;
    std::string key;
    bool has_key = false;
    std::size_t arrival_place = 1; // its column, for messages
};

class reader {
public:
    reader(std::string name, const trace_format& format) : name_(std::move(name)), format_(format) {}

    request_trace read(std::istream& in) {
        std::string line;
        for (bool first = true; std::getline(in, line);) {
            ++line_;
            if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3); // a byte order mark
            if (trimmed(line).empty()) continue;
            if (first) {
                first = false;
                is_json_ = trimmed(line).front() == '{';
                if (!is_json_ && begin_table(line)) continue; // it was the names
            }
            add(is_json_ ? read_object(line) : read_row(line));
        }
        if (in.bad()) throw trace_error(name_ + ": cannot be read to its end");
        if (made_.requests.empty()) throw trace_error(name_ + ": holds no request");
        finish();
        return std::move(made_);
    }

private:
    [[noreturn]] void fail(std::size_t place, const std::string& why) const {
        throw trace_error(name_ + ":" + std::to_string(line_) + ":" + std::to_string(place) + ": " + why);
    }

    // ---- CSV

    struct field {
        std::string text;
        std::size_t place; // its first byte's column, from 1
    };

    /// Fields as RFC 4180 has them, but for line breaks inside of quotes.
    std::vector<field> split(std::string_view line) const {
        if (line.ends_with('\r')) line.remove_suffix(1);
        std::vector<field> fields;
        for (std::size_t at = 0;;) {
            field f{.text = {}, .place = at + 1};
            if (at < line.size() && line[at] == '"') {
                for (++at;; ++at) {
                    if (at >= line.size()) fail(f.place, "a quote without its end; a field ends on its line");
                    if (line[at] == '"' && (at + 1 >= line.size() || line[at + 1] != '"')) break;
                    if (line[at] == '"') ++at;
                    f.text += line[at];
                }
                if (++at < line.size() && line[at] != ',') fail(at + 1, "text behind the end of a quote");
            } else {
                const std::size_t end = std::min(line.find(',', at), line.size());
                f.text = trimmed(line.substr(at, end - at));
                at = end;
            }
            fields.push_back(std::move(f));
            if (at >= line.size()) return fields;
            ++at; // the comma
        }
    }

    /// True if the first line holds the names.
    bool begin_table(const std::string& line) {
        const bool has_names = format_.columns.empty();
        const std::string saved = name_;
        if (!has_names) name_ = "--columns";
        for (const field& f : split(has_names ? line : format_.columns)) {
            const auto found = column_of(f.text, has_names ? '_' : ':');
            if (!found)
                fail(f.place, "column '" + f.text + "' needs a unit: "
                                  + (has_names ? "_s, _ms, _us or _ns" : ":s, :ms, :us or :ns"));
            if (!has_names && found->what == meaning::skipped && f.text != "-")
                fail(f.place, "unknown column '" + f.text
                                  + "'; allowed are arrival:UNIT, key, service:UNIT, "
                                    "class, block:UNIT, and - for one that is skipped");
            columns_.push_back(*found);
        }
        require(meaning::arrival, has_names ? "arrival_us (or _s, _ms, _ns)" : "arrival:UNIT");
        require(meaning::key, "key");
        if (!has(meaning::service) && !has(meaning::klass) && format_.service_ns == 0)
            fail(1, std::string("no column ") + (has_names ? "service_us (or _s, _ms, _ns)" : "service:UNIT")
                        + " or class; --service gives all requests one time");
        name_ = saved;
        return has_names;
    }

    [[nodiscard]] bool has(meaning what) const {
        return std::any_of(columns_.begin(), columns_.end(), [&](const column& c) { return c.what == what; });
    }

    void require(meaning what, const std::string& title) const {
        const auto count =
            std::count_if(columns_.begin(), columns_.end(), [&](const column& c) { return c.what == what; });
        if (count == 0) fail(1, "no column " + title);
        if (count > 1) fail(1, "two columns " + title);
    }

    [[nodiscard]] record read_row(const std::string& line) const {
        const std::vector<field> fields = split(line);
        if (fields.size() != columns_.size())
            fail(fields.back().place, std::to_string(fields.size()) + " fields where there are "
                                          + std::to_string(columns_.size()) + " columns");
        record r;
        for (std::size_t i = 0; i < fields.size(); ++i) {
            const field& f = fields[i];
            if (columns_[i].what == meaning::skipped) continue;
            if (columns_[i].what == meaning::key || columns_[i].what == meaning::klass)
                take_text(r, columns_[i].what, f.text, f.place);
            else
                take_time(r, columns_[i], number(f.text, f.place), f.text, f.place);
        }
        complete(r);
        return r;
    }

    [[nodiscard]] double number(const std::string& text, std::size_t place) const {
        double value = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc{} || stop != end) fail(place, "'" + text + "' is no number");
        return value;
    }

    // ---- JSON lines

    [[nodiscard]] record read_object(const std::string& line) const {
        nlohmann::json object;
        try {
            object = nlohmann::json::parse(line);
        } catch (const nlohmann::json::parse_error& error) {
            fail(std::max<std::size_t>(error.byte, 1), "not JSON");
        }
        if (!object.is_object()) fail(1, "not a JSON object");
        record r;
        for (const auto& [name, value] : object.items()) {
            const std::size_t place = std::min(line.find('"' + name + '"'), line.size() - 1) + 1;
            const auto found = column_of(name, '_');
            if (!found) fail(place, "'" + name + "' needs a unit: _s, _ms, _us or _ns");
            if (found->what == meaning::skipped) continue;
            if (found->what == meaning::key || found->what == meaning::klass) {
                if (!value.is_string() && !value.is_number_integer())
                    fail(place, "'" + name + "' must be a text or a whole number, but is " + value.dump());
                take_text(r, found->what, value.is_string() ? value.get<std::string>() : value.dump(), place);
            } else {
                if (!value.is_number())
                    fail(place, "'" + name + "' must be a number, but is " + value.dump());
                take_time(r, *found, value.get<double>(), value.dump(), place);
            }
        }
        if (r.arrival_ns < 0) fail(1, "no 'arrival_us' (or _s, _ms, _ns)");
        if (!r.has_key) fail(1, "no 'key'");
        complete(r);
        return r;
    }

    // ---- both

    void take_text(record& r, meaning what, const std::string& text, std::size_t place) const {
        if (what == meaning::key) {
            r.key = text;
            r.has_key = true;
            return;
        }
        const auto found = format_.class_ns.find(text);
        if (found == format_.class_ns.end())
            fail(place, "class '" + text + "' has no time; --class '" + text + "=20us' gives it one");
        r.service_ns = static_cast<double>(found->second);
    }

    void take_time(record& r, const column& of, double value, const std::string& text,
                   std::size_t place) const {
        const double ns = value * of.ns;
        if (!std::isfinite(ns) || ns < 0 || ns > most_ns)
            fail(place, "'" + text + "' is not allowed: a time is 0 to 2^53 ns");
        if (of.what == meaning::arrival) {
            r.arrival_ns = ns;
            r.arrival_place = place;
        } else if (of.what == meaning::service) {
            r.service_ns = ns;
        } else {
            r.block_ns = ns;
        }
    }

    void complete(record& r) const {
        if (r.service_ns >= 0) return;
        if (format_.service_ns == 0)
            fail(1,
                 "no 'service_us' (or _s, _ms, _ns) and no 'class'; --service gives all requests one time");
        r.service_ns = static_cast<double>(format_.service_ns);
    }

    void add(const record& r) {
        if (made_.requests.empty()) {
            first_ns_ = last_ns_ = r.arrival_ns;
        } else if (r.arrival_ns < last_ns_) {
            fail(r.arrival_place, "arrives before the request of the line before: sort the file by arrival");
        } else if (r.arrival_ns - last_ns_ > longest_gap_ns) {
            fail(r.arrival_place, "arrives more than an hour after the request before it: is the unit right? "
                                  "A longer pause has to be cut out");
        }
        whole_seconds_ = whole_seconds_ && std::fmod(r.arrival_ns, 1e9) == 0;
        same_second_ = same_second_ || (!made_.requests.empty() && r.arrival_ns == last_ns_);
        last_ns_ = r.arrival_ns;
        const auto [key, is_new] = keys_.try_emplace(r.key, static_cast<std::uint32_t>(keys_.size()));
        made_.requests.push_back({.arrival_ns = rounded(r.arrival_ns - first_ns_),
                                  .service_ns = rounded(r.service_ns),
                                  .block_ns = rounded(r.block_ns),
                                  .key = key->second});
    }

    static std::uint64_t rounded(double ns) { return static_cast<std::uint64_t>(std::llround(ns)); }

    void finish() {
        made_.keys = static_cast<std::uint32_t>(keys_.size());
        if (whole_seconds_ && same_second_) spread();
    }

    /// What came in one second comes at even distances in it.
    void spread() {
        std::vector<request>& all = made_.requests;
        for (std::size_t begin = 0; begin < all.size();) {
            std::size_t end = begin;
            while (end < all.size() && all[end].arrival_ns == all[begin].arrival_ns) ++end;
            const std::uint64_t second = all[begin].arrival_ns;
            for (std::size_t i = begin; i < end; ++i)
                all[i].arrival_ns = second + 1'000'000'000 * (i - begin) / (end - begin);
            begin = end;
        }
        made_.remark = "arrivals are whole seconds: those of a second are spread evenly over it, so shorter "
                       "bursts are lost";
    }

    std::string name_;
    const trace_format& format_;
    std::size_t line_ = 0;
    bool is_json_ = false;
    std::vector<column> columns_;
    std::unordered_map<std::string, std::uint32_t> keys_;
    request_trace made_;
    double first_ns_ = 0;
    double last_ns_ = 0;
    bool whole_seconds_ = true;
    bool same_second_ = false;
};

} // namespace

std::uint64_t request_trace::length_ns() const {
    const std::uint64_t last = requests.back().arrival_ns;
    const std::uint64_t gaps = requests.size() - 1;
    return std::max<std::uint64_t>(gaps == 0 ? 1 : last + last / gaps, 1);
}

double request_trace::rate() const {
    return static_cast<double>(requests.size()) * 1e9 / static_cast<double>(length_ns());
}

request_trace read_trace(std::istream& in, const std::string& name, const trace_format& format) {
    return reader(name, format).read(in);
}

request_trace read_trace(const std::string& path, const trace_format& format) {
    std::ifstream in(path);
    if (!in) throw trace_error(path + ": cannot be opened");
    return read_trace(in, path, format);
}

std::uint64_t parse_duration(const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    const unit* const of = find_unit(trimmed(std::string_view(stop, static_cast<std::size_t>(end - stop))));
    if (error != std::errc{} || !of || !(value * of->ns >= 1 && value * of->ns <= most_ns))
        throw std::invalid_argument("'" + text
                                    + "' is no duration; allowed is a number with s, ms, us or ns, "
                                      "from 1ns to 2^53 ns, such as 20us");
    return static_cast<std::uint64_t>(std::llround(value * of->ns));
}

void write_trace(std::ostream& out, const request_trace& trace) {
    out << "arrival_ns,key,service_ns,block_ns\n";
    for (const request& r : trace.requests)
        out << r.arrival_ns << ',' << r.key << ',' << r.service_ns << ',' << r.block_ns << '\n';
}

} // namespace lab::replay
