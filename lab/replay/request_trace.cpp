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

// 104 days; a double represents such numbers exactly.
constexpr std::uint64_t most_ns = std::uint64_t{1} << 53;
constexpr std::uint64_t latest_ns = std::uint64_t{1} << 62; // 146 years, counted from 1970
constexpr std::uint64_t longest_gap_ns = 3'600'000'000'000;

struct unit {
    std::string_view name;
    std::uint64_t ns;
};
constexpr std::array<unit, 4> units{{{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}}};

const unit* find_unit(std::string_view name) {
    const auto found =
        std::find_if(units.begin(), units.end(), [&](const unit& u) { return u.name == name; });
    return found == units.end() ? nullptr : &*found;
}

enum class meaning { skipped, arrival, key, service, klass, block };

struct column {
    meaning what = meaning::skipped;
    std::uint64_t ns = 1; // nanoseconds per unit
};

/// Parses the name of a column, with its unit after `separator`: "arrival_us", "arrival:us". Unknown names
/// are skipped. Returns nothing if the name needs a unit and has no known one.
std::optional<column> column_of(std::string_view name, char separator) {
    if (name == "key") return column{meaning::key};
    if (name == "class") return column{meaning::klass};
    constexpr std::array<std::pair<std::string_view, meaning>, 3> timed{
        {{"arrival", meaning::arrival}, {"service", meaning::service}, {"block", meaning::block}}};
    for (const auto& [word, what] : timed) {
        if (!name.starts_with(word)) continue;
        const std::string_view rest = name.substr(word.size());
        if (!rest.empty() && rest[0] != separator) continue; // a different word with the same beginning
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

/// Returns text of the file for a message. Shortens long text, and removes characters that control a
/// terminal.
std::string shown(std::string_view text) {
    constexpr std::size_t most = 60;
    std::string made(text.substr(0, most));
    for (char& c : made)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    return text.size() > most ? made + "..." : made;
}

/// Converts a number of units to nanoseconds. Exact for digits with or without a fraction, even if a double
/// would not be exact. Returns nothing if it is not a number from 0 to `most` ns.
std::optional<std::uint64_t> nanoseconds(std::string_view text, std::uint64_t unit_ns, std::uint64_t most) {
    const char* const end = text.data() + text.size();
    double value = 0;
    if (const auto [stop, error] = std::from_chars(text.data(), end, value);
        error != std::errc{} || stop != end)
        return std::nullopt;
    const double about = value * static_cast<double>(unit_ns);
    if (!(about >= 0 && about <= static_cast<double>(most))) return std::nullopt;
    std::uint64_t whole = 0;
    const auto [point, error] = std::from_chars(text.data(), end, whole);
    if (error != std::errc{} || (point != end && *point != '.')
        || text.find_first_of("eE") != std::string_view::npos)
        return static_cast<std::uint64_t>(std::llround(about)); // for forms such as 1.5e3, .5 or -0
    double fraction = 0;
    std::from_chars(point, end, fraction); // stays 0 if there is none, or only "."
    // This cannot overflow. `about` is the same number except for rounding, and at most 2^62.
    const std::uint64_t ns =
        whole * unit_ns + static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(unit_ns)));
    return ns <= most ? std::optional(ns) : std::nullopt;
}

/// The content of a line, before it is compared with earlier lines.
struct record {
    std::optional<std::uint64_t> arrival_ns;
    std::optional<std::uint64_t> service_ns;
    std::uint64_t block_ns = 0;
    std::string key;
    bool has_key = false;
    std::size_t arrival_place = 1;   // its column, for messages
    bool arrival_in_seconds = false; // the unit of its column is the second
};

class reader {
public:
    reader(std::string name, const trace_format& format) : name_(std::move(name)), format_(format) {}

    request_trace read(std::istream& in) {
        std::string line;
        for (bool first = true; std::getline(in, line);) {
            ++line_;
            if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3); // a byte order mark
            if (const auto zero = line.find('\0'); zero != std::string::npos)
                fail(zero + 1, "a zero byte: this is no text");
            if (trimmed(line).empty()) continue;
            if (first) {
                first = false;
                is_json_ = trimmed(line).front() == '{';
                if (is_json_ && !format_.columns.empty())
                    fail(1, "an object of JSON, which names its fields itself: --columns is for CSV");
                if (!is_json_ && begin_table(line)) continue; // the line had the names
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
        std::size_t place; // column of its first byte, from 1
    };

    /// Splits fields as in RFC 4180, but without line breaks inside quotes.
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
                if (const auto quote = line.find('"', at); quote < end)
                    fail(quote + 1, "a quote inside of a field: a field with quotes begins with one, and has "
                                    "those inside of it twice");
                at = end;
            }
            fields.push_back(std::move(f));
            if (at >= line.size()) return fields;
            ++at; // skips the comma
        }
    }

    /// Returns true if the first line has the names.
    bool begin_table(const std::string& line) {
        if (format_.columns.empty()) {
            take_columns(line, '_', "needs a unit: _s, _ms, _us or _ns", "_us (or _s, _ms, _ns)");
            return true;
        }
        const std::string file = std::exchange(name_, "--columns");
        const std::size_t at = std::exchange(line_, 1);
        take_columns(format_.columns, ':', "needs a unit: :s, :ms, :us or :ns", ":UNIT");
        name_ = file;
        line_ = at;
        return false;
    }

    void take_columns(const std::string& names, char separator, const std::string& units_missing,
                      const std::string& unit) {
        for (const field& f : split(names)) {
            const auto found = column_of(f.text, separator);
            if (!found) fail(f.place, "column '" + shown(f.text) + "' " + units_missing);
            if (separator == ':' && found->what == meaning::skipped && f.text != "-")
                fail(f.place, "unknown column '" + shown(f.text)
                                  + "'; allowed are arrival:UNIT, key, service:UNIT, "
                                    "class, block:UNIT, and - for one that is skipped");
            if (found->what != meaning::skipped && has(found->what))
                fail(f.place, "'" + shown(f.text) + "' is the second column with that meaning");
            columns_.push_back(*found);
        }
        if (!has(meaning::arrival)) fail(1, "no column arrival" + unit);
        if (!has(meaning::key)) fail(1, "no column key");
        if (!has(meaning::service) && !has(meaning::klass) && format_.service_ns == 0)
            fail(1, "no column service" + unit + " or class; --service gives all requests one time");
    }

    [[nodiscard]] bool has(meaning what) const {
        return std::any_of(columns_.begin(), columns_.end(), [&](const column& c) { return c.what == what; });
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
            if (columns_[i].what == meaning::klass && has(meaning::service)) continue;
            if (columns_[i].what == meaning::key || columns_[i].what == meaning::klass)
                take_text(r, columns_[i].what, f.text, f.place);
            else
                take_time(r, columns_[i], f.text, f.place);
        }
        complete(r);
        return r;
    }

    // ---- JSON lines

    /// Returns the columns of the names in the line's object, in their order. Names in nested objects do not
    /// count. `line` must be JSON.
    static std::vector<std::size_t> places_of_names(std::string_view line) {
        std::vector<std::size_t> places;
        std::size_t depth = 0;
        bool is_name = false; // whether the next text is a name
        for (std::size_t at = 0; at < line.size(); ++at) {
            const char c = line[at];
            if (c == '{' || c == '[') is_name = ++depth == 1;
            if (c == '}' || c == ']') --depth;
            if (c == ',') is_name = depth == 1;
            if (c != '"') continue;
            if (std::exchange(is_name, false)) places.push_back(at + 1);
            for (++at; line[at] != '"'; ++at)
                if (line[at] == '\\') ++at;
        }
        return places;
    }

    [[nodiscard]] record read_object(const std::string& line) const {
        std::vector<std::string> names; // in their order, including repeated ones
        nlohmann::json object;
        try {
            object = nlohmann::json::parse(
                line, [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& now) {
                    if (depth == 1 && event == nlohmann::json::parse_event_t::key) names.push_back(now);
                    return true;
                });
        } catch (const nlohmann::json::parse_error& error) {
            fail(std::max<std::size_t>(error.byte, 1), "not JSON");
        } catch (const nlohmann::json::out_of_range&) {
            fail(1, "holds a number that is too large");
        }
        if (!object.is_object()) fail(1, "not a JSON object");
        const std::vector<std::size_t> places = places_of_names(line);
        record r;
        std::vector<meaning> had;
        const bool has_service = std::any_of(names.begin(), names.end(), [](const std::string& name) {
            const auto found = column_of(name, '_');
            return found && found->what == meaning::service;
        });
        for (std::size_t i = 0; i < names.size(); ++i) {
            const std::string& name = names[i];
            const auto found = column_of(name, '_');
            if (!found) fail(places[i], "'" + shown(name) + "' needs a unit: _s, _ms, _us or _ns");
            if (found->what == meaning::skipped) continue;
            if (std::find(had.begin(), had.end(), found->what) != had.end())
                fail(places[i], "'" + shown(name) + "' is the second field with that meaning");
            had.push_back(found->what);
            if (found->what == meaning::klass && has_service) continue;
            take_field(r, *found, name, object[name], places[i]);
        }
        if (!r.arrival_ns) fail(1, "no 'arrival_us' (or _s, _ms, _ns)");
        if (!r.has_key) fail(1, "no 'key'");
        complete(r);
        return r;
    }

    void take_field(record& r, const column& of, const std::string& name, const nlohmann::json& value,
                    std::size_t place) const {
        const auto refuse = [&](const char* what) {
            fail(place, "'" + name + "' must be " + what + ", but is "
                            + (value.is_structured() ? value.type_name() : shown(value.dump())));
        };
        if (of.what == meaning::key || of.what == meaning::klass) {
            if (!value.is_string() && !value.is_number_integer()) refuse("a text or a whole number");
            take_text(r, of.what, value.is_string() ? value.get<std::string>() : value.dump(), place);
        } else {
            if (!value.is_number()) refuse("a number");
            take_time(r, of, value.dump(), place);
        }
    }

    // ---- both formats

    void take_text(record& r, meaning what, const std::string& text, std::size_t place) const {
        if (what == meaning::key) {
            r.key = text;
            r.has_key = true;
            return;
        }
        const auto found = format_.class_ns.find(text);
        if (found == format_.class_ns.end())
            fail(place,
                 "class '" + shown(text) + "' has no time; --class '" + shown(text) + "=20us' gives it one");
        r.service_ns = found->second;
    }

    void take_time(record& r, const column& of, const std::string& text, std::size_t place) const {
        const bool is_arrival = of.what == meaning::arrival;
        const auto ns = nanoseconds(text, of.ns, is_arrival ? latest_ns : most_ns);
        if (!ns)
            fail(place, "'" + shown(text) + "' is no time: allowed is a number, 0 to 2^"
                            + (is_arrival ? "62" : "53") + " ns");
        if (is_arrival) {
            r.arrival_ns = ns;
            r.arrival_place = place;
            r.arrival_in_seconds = of.ns == 1'000'000'000;
        } else if (of.what == meaning::service) {
            r.service_ns = ns;
        } else {
            r.block_ns = *ns;
        }
    }

    void complete(record& r) const {
        if (r.service_ns) return;
        if (format_.service_ns == 0)
            fail(1,
                 "no 'service_us' (or _s, _ms, _ns) and no 'class'; --service gives all requests one time");
        r.service_ns = format_.service_ns;
    }

    void add(const record& r) {
        const std::uint64_t arrival_ns = *r.arrival_ns;
        if (made_.requests.empty()) {
            first_ns_ = last_ns_ = arrival_ns;
        } else if (arrival_ns < last_ns_) {
            fail(r.arrival_place, "arrives before the request of the line before: sort the file by arrival");
        } else if (arrival_ns - last_ns_ > longest_gap_ns) {
            fail(r.arrival_place, "arrives more than an hour after the request before it: is the unit right? "
                                  "A longer pause has to be cut out");
        } else if (arrival_ns - first_ns_ > most_ns) {
            fail(r.arrival_place, "arrives more than 2^53 ns, 104 days, after the first request");
        }
        // With a finer unit, several requests at the same time are a burst.
        whole_seconds_ = whole_seconds_ && r.arrival_in_seconds && arrival_ns % 1'000'000'000 == 0;
        same_second_ = same_second_ || (!made_.requests.empty() && arrival_ns == last_ns_);
        last_ns_ = arrival_ns;
        const auto [key, is_new] = keys_.try_emplace(r.key, static_cast<std::uint32_t>(keys_.size()));
        made_.requests.push_back({.arrival_ns = arrival_ns - first_ns_,
                                  .service_ns = *r.service_ns,
                                  .block_ns = r.block_ns,
                                  .key = key->second});
    }

    void finish() {
        made_.keys = static_cast<std::uint32_t>(keys_.size());
        if (whole_seconds_ && same_second_) spread();
    }

    /// Spreads the requests of each second evenly over it.
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
    std::uint64_t first_ns_ = 0;
    std::uint64_t last_ns_ = 0;
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
    const std::string_view all = trimmed(text);
    const std::string_view name =
        trimmed(all.substr(std::min(all.find_last_of("0123456789.") + 1, all.size())));
    const unit* const of = find_unit(name);
    const auto ns =
        of ? nanoseconds(trimmed(all.substr(0, all.size() - name.size())), of->ns, most_ns) : std::nullopt;
    if (!ns || *ns == 0)
        throw std::invalid_argument("'" + shown(text)
                                    + "' is no duration; allowed is a number with s, ms, us or ns, "
                                      "from 1ns to 2^53 ns, such as 20us");
    return *ns;
}

void write_trace(std::ostream& out, const request_trace& trace) {
    out << "arrival_ns,key,service_ns,block_ns\n";
    std::string line; // not to the stream, whose locale would group the digits
    for (const request& r : trace.requests) {
        line.clear();
        for (const std::uint64_t number : {r.arrival_ns, std::uint64_t{r.key}, r.service_ns, r.block_ns})
            line += std::to_string(number) + ',';
        line.back() = '\n';
        out << line;
    }
}

} // namespace lab::replay
