#include <ekiden/sim/detail/timeline.hpp>

#include <ekiden/observe/detail/text.hpp>
#include <ekiden/queue/task.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI::sim {

namespace {

constexpr std::size_t longest_name = 90;

/// Shortens a long name. Removes the beginning of the name, because the end of a name is more specific.
std::string short_name(std::string_view type) {
    if (type.size() <= longest_name) return std::string(type);
    std::size_t first = type.size() - longest_name;
    while (first != type.size() && text::character_bytes(type.substr(first)) == 0) ++first;
    return "..." + std::string(type.substr(first));
}

/// Returns the name and the latest await of a coroutine, or the type of a task.
std::string name_of(const step& s) {
    if (s.file == nullptr) return short_name(described_type(s.what));
    const std::string_view path(s.file);
    const std::string_view file = path.substr(path.find_last_of('/') + 1);
    return short_name(s.what) + " at " + std::string(file) + ":" + std::to_string(s.line);
}

} // namespace

std::string time_text(std::int64_t ns) {
    struct unit {
        std::int64_t ns;
        const char* name;
    };
    constexpr std::array<unit, 4> units{{{1'000'000'000, "s"}, {1'000'000, "ms"}, {1000, "us"}, {1, "ns"}}};
    const auto* const fitting =
        std::find_if(units.begin(), units.end() - 1, [ns](const unit& u) { return ns >= u.ns; });
    return text::general(static_cast<double>(ns) / static_cast<double>(fitting->ns), 6) + " " + fitting->name;
}

std::string timeline::line(std::size_t i) const {
    const step& s = steps_[i];
    std::array<char, 64> head{};
    (void)std::snprintf(head.data(), head.size(), "  %4zu %12s  ", i + 1, time_text(s.time).c_str());
    std::string text = head.data();
    text.append(2U * s.depth, ' ');
    switch (s.kind) {
    case step_kind::task:
        text += "[" + std::to_string(s.chain) + "] " + s.where + ": " + name_of(s);
        break;
    case step_kind::time:
        text += "time moves";
        break;
    case step_kind::fault:
        text += "FAULT " + (s.text.empty() ? std::string(s.what) : s.text);
        break;
    case step_kind::note:
        text += "- " + s.text;
        break;
    case step_kind::dropped:
        text += std::string(s.where) + " drops " + name_of(s);
        break;
    }
    return text + "\n";
}

std::string timeline::text(std::size_t most) const {
    const std::size_t first = steps_.size() > most ? steps_.size() - most : 0;
    std::string all = first != 0 ? "  ... " + std::to_string(first) + " steps before\n" : std::string();
    for (std::size_t i = first; i != steps_.size(); ++i) all += line(i);
    return all;
}

std::string timeline::first_difference(const timeline& other) const {
    const std::size_t both = std::min(size(), other.size());
    std::size_t i = 0;
    while (i != both && steps_[i] == other.steps_[i]) ++i;
    if (i == both && size() == other.size()) return {};
    const auto line_of = [i](const timeline& t) {
        return i < t.size() ? t.line(i) : std::string("  the end\n");
    };
    return "  first run:\n" + line_of(*this) + "  second run:\n" + line_of(other);
}

} // namespace ekiden::inline EKIDEN_ABI::sim
