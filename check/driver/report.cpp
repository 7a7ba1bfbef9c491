#include <check/driver/report.hpp>
#include <check/engine/text.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace ekiden::check {
namespace {

constexpr double museum_seconds = 10; // the search must find a known bug within this time

std::string count(std::uint64_t value) {
    std::string digits = std::to_string(value);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
    return digits;
}

std::string fixed(double value, int decimals) {
    std::array<char, 32> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
    return buffer.data();
}

std::string padded(std::string text, std::size_t width, bool right = false) {
    if (text.size() < width) text.insert(right ? 0 : text.size(), width - text.size(), ' ');
    return text;
}

/// Returns how far the depth-first search went, in preemptions.
std::string reach(const result& r) {
    if (r.complete && r.unbounded) return "all";
    if (!r.bound.has_value()) return "cut";
    return "<=" + std::to_string(*r.bound) + (r.complete ? "" : ", cut");
}

std::string join(const std::set<std::string>& all) {
    std::string out;
    for (const std::string& one : all) out += " [" + one + "]";
    return out.empty() ? " none" : out;
}

/// Returns why the result is not the expected one. Empty if it is.
std::string complaint(const model& m, const result& r) {
    if (m.how.fails) {
        if (!r.failed) return "the known bug was not found";
        if (r.seconds > museum_seconds) return "the known bug was found too late";
        return {};
    }
    if (r.failed) return "FAILED: " + r.failure;
    if (m.how.outcomes.empty()) return {};
    const std::set<std::string> expected(m.how.outcomes.begin(), m.how.outcomes.end());
    if (!r.complete) return "not searched to the end";
    if (expected == r.found.outcomes) return {};
    return "outcomes differ: expected" + join(expected) + ", seen" + join(r.found.outcomes);
}

std::string explain(const result& r) {
    return "\n" + r.failure + "\n\n" + r.table + "\nreplay: " + r.replay + "\n";
}

} // namespace

std::string full_name(const model& m) { return std::string(m.folder) + "/" + std::string(m.name); }

verdict judge(const model& m, const effort& how) {
    search depth;
    depth.bound = m.how.preemptions + how.more;
    if (m.how.old_values != unbounded) depth.old_values = m.how.old_values + how.more;
    depth.seconds = how.seconds;
    result r = explore(m, depth);
    verdict v{false, r.executions, r.seconds, {}};
    if (!r.failed && how.random != 0 && m.how.outcomes.empty()) {
        search chance;
        chance.random = true;
        chance.executions = how.random;
        chance.seconds = how.seconds;
        const result random = explore(m, chance);
        v.executions += random.executions;
        v.seconds += random.seconds;
        if (random.failed) {
            const bool was_complete = r.complete;
            r = random;
            r.complete = was_complete;
        }
    }
    const std::string wrong = complaint(m, r);
    v.good = wrong.empty();
    v.text = padded(full_name(m), 52) + padded(v.good ? (r.failed ? "found" : "ok") : "WRONG", 7)
             + padded(r.failed ? "" : reach(r), 9)
             + padded(depth.old_values == unbounded ? "" : "<=" + std::to_string(depth.old_values), 4, true)
             + padded(count(v.executions), 13, true) + padded(fixed(v.seconds, 1), 8, true) + " s";
    if (!v.good) v.text += "\n  " + wrong + (r.failed ? explain(r) : "");
    return v;
}

verdict judge_replay(const model& m, std::string_view text) {
    const result r = replay(m, text);
    return {!r.failed, 1, r.seconds,
            full_name(m) + (r.failed ? "" : ": this execution does not fail") + explain(r)};
}

std::string pack(const verdict& v) {
    return std::string(v.good ? "1 " : "0 ") + std::to_string(v.executions) + " " + std::to_string(v.seconds)
           + "\n" + v.text;
}

verdict unpack(const std::string& text) {
    const std::size_t end = text.find('\n');
    if (end == std::string::npos) return {};
    char* at = nullptr;
    verdict v;
    v.good = text[0] == '1';
    v.executions = std::strtoull(text.c_str() + 2, &at, 10);
    v.seconds = std::strtod(at, nullptr);
    v.text = text.substr(end + 1);
    return v;
}

} // namespace ekiden::check
