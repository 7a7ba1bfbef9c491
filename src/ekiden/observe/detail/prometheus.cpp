#include <ekiden/observe/prometheus.hpp>

#include <ekiden/observe/detail/text.hpp>
#include <ekiden/sys/bad_argument.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {
namespace {

/// `what` is "name" or "label".
[[noreturn]] void refuse(const char* what, std::string_view name, const char* allowed) {
    sys::refuse_argument("prometheus_page", what, "'" + std::string(name) + "'", allowed);
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Throws unless the name contains only letters, digits, '_' and `more`, and does not begin with a digit.
void check_name(const char* what, std::string_view name, char more, const char* allowed) {
    const bool is_good = !name.empty() && (is_letter(name[0]) || name[0] == more)
                         && std::all_of(name.begin(), name.end(), [more](char c) {
                                return is_letter(c) || c == more || (c >= '0' && c <= '9');
                            });
    if (!is_good) refuse(what, name, allowed);
}

/// Returns the name of a counter without the suffix "_total". In OpenMetrics, the suffix is not a part of the
/// name.
std::string_view base(std::string_view name) {
    constexpr std::string_view end = "_total";
    return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : name;
}

/// Appends `text`. Puts a backslash before each backslash and each `also`, and writes a newline as "\n".
void append_escaped(std::string& to, std::string_view text, char also) {
    text::for_each_character(text, [&](std::string_view one) {
        if (one == "\n")
            to += "\\n";
        else if (one[0] == '\\' || one[0] == also)
            to.append("\\").append(one);
        else
            to += one;
    });
}

/// Returns the shortest text for the value from which the same value can be read.
std::string text_of(double value) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    const std::string_view text(digits.data(), end);
    if (text == "inf") return "+Inf";
    if (text == "-inf") return "-Inf";
    return std::string(text.ends_with("nan") ? "NaN" : text); // the text can be "nan" or "-nan"
}

double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

void check(prometheus_page::labels with) {
    for (const prometheus_label& one : with) {
        check_name("label", one.name, '_', "letters, digits and '_', with no digit in front");
        if (one.name == "le" || one.name.starts_with("__"))
            refuse("label", one.name, "a name that Prometheus does not use itself");
        if (std::any_of(with.begin(), &one, [&](const auto& other) { return other.name == one.name; }))
            refuse("label", one.name, "a name that no other label of the value has");
    }
}

/// Appends one line. `bound` is the value of the label "le" of a bucket.
void append_sample(std::string& to, std::string_view name, std::string_view suffix,
                   prometheus_page::labels with, std::string_view bound, const std::string& value) {
    std::string line(name);
    line += suffix;
    char before = '{';
    const auto append = [&](std::string_view label, std::string_view text) {
        line.append(1, std::exchange(before, ',')).append(label).append("=\"");
        append_escaped(line, text, '"');
        line += '"';
    };
    for (const prometheus_label& one : with) append(one.name, one.value);
    if (!bound.empty()) append("le", bound);
    if (before == ',') line += '}';
    to += line.append(" ").append(value).append(
        "\n"); // one append, so that an exception leaves no partial line
}

} // namespace

std::string& prometheus_page::text_of(std::string_view name, std::string_view help, std::string_view type) {
    check_name("name", name, ':', "letters, digits, '_' and ':', with no digit in front");
    if ((type == "counter") != name.ends_with("_total"))
        refuse("name", name, "a name with '_total' at its end for a counter, and without for other metrics");
    const auto known = std::find_if(metrics_.begin(), metrics_.end(),
                                    [name](const metric& m) { return base(m.name) == base(name); });
    if (known != metrics_.end()) {
        if (known->type != type)
            refuse("name", name, "a name that no metric of another kind has, not counting '_total'");
        return known->text;
    }
    std::string head = "# HELP "; // is added as a whole, so that an exception leaves no partial line
    head.append(name).append(" ");
    append_escaped(head, help, '\\');
    head.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
    return metrics_.emplace_back(metric{std::string(name), type, std::move(head)}).text;
}

void prometheus_page::counter(std::string_view name, std::string_view help, std::uint64_t value,
                              labels with) {
    check(with);
    append_sample(text_of(name, help, "counter"), name, "", with, "", std::to_string(value));
}

void prometheus_page::gauge(std::string_view name, std::string_view help, double value, labels with) {
    check(with);
    append_sample(text_of(name, help, "gauge"), name, "", with, "", ekiden::text_of(value));
}

void prometheus_page::histogram(std::string_view name, std::string_view help, const histogram_snapshot& of,
                                labels with) {
    check(with);
    std::string lines; // are added as a whole, so that an exception leaves no partial histogram
    std::uint64_t below = 0;
    std::size_t bucket = 0;
    for (unsigned power = 10; power != 35; ++power) {
        const std::uint64_t bound = std::uint64_t{1} << power;
        for (; histogram_snapshot::lower_bound(bucket) < bound; ++bucket) below += of.counts[bucket];
        append_sample(lines, name, "_bucket", with, ekiden::text_of(seconds(bound)), std::to_string(below));
    }
    const std::string total = std::to_string(of.total());
    append_sample(lines, name, "_bucket", with, "+Inf", total);
    append_sample(lines, name, "_sum", with, "", ekiden::text_of(seconds(of.sum_ns)));
    append_sample(lines, name, "_count", with, "", total);
    text_of(name, help, "histogram") += lines;
}

std::string prometheus_page::text() const {
    std::string all;
    for (const metric& one : metrics_) all += one.text;
    return all;
}

} // namespace ekiden::inline EKIDEN_ABI
