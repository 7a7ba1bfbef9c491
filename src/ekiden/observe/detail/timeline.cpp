#include <ekiden/observe/timeline.hpp>

#include <ekiden/observe/detail/text.hpp>
#include <ekiden/sys/bad_argument.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {
namespace {

using trace::event;
using trace::kind;

/// An activity that a thread can show. If intervals of several activities overlap, the timeline shows the
/// activity that is last in `activities`.
struct activity {
    kind what;
    char sign;
    std::string_view name;
};
constexpr std::array activities{activity{kind::task, '#', "tasks"}, activity{kind::span, '=', "spans"},
                                activity{kind::parked, '.', "parked"},
                                activity{kind::lock_wait, 'l', "waiting for locks"},
                                activity{kind::blocked, 'b', "blocked"}};

std::string text_of(std::int64_t ns) {
    static constexpr std::array<std::pair<double, std::string_view>, 4> units{
        {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1, " ns"}}};
    const auto value = static_cast<double>(ns);
    const auto* const fitting = std::find_if(units.begin(), units.end() - 1,
                                             [value](const auto& unit) { return value >= unit.first; });
    return text::general(value / fitting->first, 3).append(fitting->second);
}

/// The name of a thread, and its width on a terminal.
struct caption {
    std::string text;
    std::size_t width = 0;
};

caption caption_of(const trace::track& t) {
    caption made;
    text::for_each_character(t.thread_name, [&](std::string_view one) {
        made.text += one;
        ++made.width;
    });
    return made;
}

/// The picture of one thread. For each column, the picture knows how long the thread did each activity.
class line {
public:
    line(const trace::track& of, std::int64_t begin, std::int64_t end, std::size_t columns)
        : begin_(begin),
          width_(std::max(1.0, static_cast<double>(end - begin) / static_cast<double>(columns))),
          share_(columns) {
        for (std::size_t a = 0; a != activities.size(); ++a) {
            // Iterates backwards from the interval that ended last. So an outer interval comes before the
            // inner intervals of the same kind.
            std::int64_t covered_from = end;
            for (auto e = of.events.rbegin(); e != of.events.rend(); ++e) {
                if (e->kind != activities[a].what || e->begin >= covered_from) continue;
                add(a, std::max(e->begin, begin), std::min(e->end(), covered_from));
                covered_from = e->begin;
            }
        }
    }

    [[nodiscard]] std::string text() const {
        std::string signs;
        for (const auto& column : share_) {
            char sign = ' ';
            double shown = 0;
            for (std::size_t a = 0; a != activities.size(); ++a) {
                if (column[a] < width_ / 100 || column[a] < shown / 2) continue; // too short to be shown
                sign = activities[a].sign;
                shown = std::max(shown, column[a]);
            }
            signs += sign;
        }
        return signs;
    }
    [[nodiscard]] double total(std::size_t a) const {
        double sum = 0;
        for (const auto& column : share_) sum += column[a];
        return sum;
    }

private:
    void add(std::size_t a, std::int64_t from, std::int64_t to) {
        const auto last = static_cast<double>(share_.size());
        double at = static_cast<double>(from - begin_) / width_;
        const double end = std::min(static_cast<double>(to - begin_) / width_, last);
        while (at < end) {
            const auto column = static_cast<std::size_t>(at);
            const double next = std::min(static_cast<double>(column + 1), end);
            share_[column][a] += (next - at) * width_;
            at = next;
        }
    }

    std::int64_t begin_;
    double width_;
    std::vector<std::array<double, activities.size()>> share_;
};

/// Returns the text below the line of a thread. The text may be empty.
std::string sums_of(const trace::track& t, const line& drawn, std::int64_t begin) {
    std::string sums;
    const auto add = [&sums](const std::string& one) { sums += (sums.empty() ? "" : ", ") + one; };
    for (std::size_t a = 0; a != activities.size(); ++a) {
        const auto sum = static_cast<std::int64_t>(drawn.total(a));
        if (sum == 0) continue;
        add(std::string{activities[a].sign, ' '}.append(activities[a].name).append(" ").append(text_of(sum)));
    }
    const auto posted = std::count_if(t.events.begin(), t.events.end(), [begin](const event& e) {
        return e.kind == kind::queued && e.begin >= begin;
    });
    if (posted != 0) add(std::to_string(posted) + " posted");
    if (t.overwritten != 0) add(std::to_string(t.overwritten) + " older events are not kept");
    return sums;
}

} // namespace

void write_timeline(std::ostream& to, const trace::snapshot& shot, const timeline_options& options) {
    if (options.columns == 0) sys::refuse_argument("write_timeline", "columns", options.columns, "1 or more");
    const std::int64_t end = shot.length;
    const std::int64_t begin =
        options.last.count() > 0 ? std::max<std::int64_t>(0, end - options.last.count()) : 0;
    std::vector<caption> captions;
    std::size_t widest = 0;
    for (const trace::track& t : shot.tracks)
        widest = std::max(widest, captions.emplace_back(caption_of(t)).width);
    std::string all;
    for (std::size_t i = 0; i != shot.tracks.size(); ++i) {
        const trace::track& t = shot.tracks[i];
        const line drawn(t, begin, end, options.columns);
        all.append(captions[i].text).append(widest - captions[i].width, ' ');
        all.append(" |").append(drawn.text()).append("|\n");
        const std::string sums = sums_of(t, drawn, begin);
        if (!sums.empty()) all.append(widest + 2, ' ').append(sums).append("\n");
    }
    all += text_of(end - begin) + " in all";
    if (shot.lost != 0)
        all += "; " + std::to_string(shot.lost) + " events of threads without a place are lost";
    text::put(to, all += '\n');
}

} // namespace ekiden::inline EKIDEN_ABI
