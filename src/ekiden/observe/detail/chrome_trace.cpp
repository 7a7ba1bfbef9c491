#include <ekiden/observe/chrome_trace.hpp>

#include <ekiden/observe/detail/text.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {
namespace {

using trace::event;
using trace::kind;

// The viewer shows two processes: threads, and lanes. Viewers show process 0 as "unknown".
constexpr int threads_process = 1;
constexpr int lanes_process = 2;

constexpr std::size_t longest_piece = 65'536; // text is written in pieces of about this size

std::string_view kind_name(kind k) noexcept {
    switch (k) {
    case kind::task:
        return "task";
    case kind::queued:
        return "queued";
    case kind::stolen:
        return "stolen";
    case kind::parked:
        return "parked";
    case kind::woken:
        return "woken";
    case kind::lock_wait:
        return "lock";
    case kind::granted:
        return "granted";
    case kind::turn:
        return "turn";
    case kind::timer:
        return "timer";
    case kind::suspended:
        return "suspended";
    case kind::resumed:
        return "resumed";
    case kind::blocked:
        return "blocked";
    case kind::span:
        return "span";
    case kind::mark:
        return "mark";
    }
    return "?";
}

/// Returns the title of a slice. The title contains the name of the event, its kind, or both.
std::string title(const event& e) {
    switch (e.kind) {
    case kind::lock_wait:
        return "waits for " + std::string(e.name);
    case kind::blocked:
        return "blocked: " + std::string(e.name);
    case kind::task:
    case kind::turn:
    case kind::span:
    case kind::mark:
        return std::string(e.name);
    default:
        return std::string(kind_name(e.kind));
    }
}

/// Sorts like std::stable_sort, but without std::get_temporary_buffer, which some compilers report as
/// deprecated.
template <class T, class Less>
void sort_stably(std::vector<T>& list, Less less) {
    std::vector<std::size_t> order(list.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        if (less(list[a], list[b])) return true;
        return !less(list[b], list[a]) && a < b;
    });
    std::vector<T> sorted;
    sorted.reserve(list.size());
    for (const std::size_t i : order) sorted.push_back(std::move(list[i]));
    list = std::move(sorted);
}

/// Writes JSON in pieces. The text of numbers does not depend on the locale.
class json_output {
public:
    explicit json_output(std::ostream& to) noexcept : to_(to) {}
    json_output(const json_output&) = delete;
    json_output& operator=(const json_output&) = delete;

    json_output& operator<<(std::string_view json) {
        piece_ += json;
        return *this;
    }
    json_output& operator<<(char json) {
        piece_ += json;
        return *this;
    }
    template <std::integral Number>
        requires(!std::same_as<Number, char>)
    json_output& operator<<(Number number) {
        piece_ += std::to_string(number);
        return *this;
    }
    /// Writes a quoted string.
    void put_text(std::string_view what) {
        static constexpr char digits[] = "0123456789abcdef";
        *this << '"';
        text::for_each_character(what, [this](std::string_view one) {
            const auto code = static_cast<unsigned char>(one[0]);
            if (code == '"' || code == '\\')
                *this << '\\' << one;
            else if (code < 0x20)
                *this << "\\u00" << digits[code >> 4] << digits[code & 15];
            else
                *this << one;
        });
        *this << '"';
    }
    /// Writes a time in microseconds, with three decimals.
    void put_time(std::int64_t ns) {
        const std::string below = std::to_string(1000 + ns % 1000);
        *this << ns / 1000 << '.' << std::string_view(below).substr(1);
    }
    /// Call this between two records, and at the end.
    void flush(std::size_t unless_below = 0) {
        if (piece_.size() < unless_below) return;
        text::put(to_, piece_);
        piece_.clear();
    }

private:
    std::ostream& to_;
    std::string piece_;
};

/// A track of the viewer.
struct row {
    int process;
    std::uint64_t thread;
};

class writer {
public:
    writer(std::ostream& to, const trace::snapshot& shot, const chrome_trace_options& options)
        : to_(to), shot_(shot), options_(options) {}

    void write() {
        select();
        for (const trace::track& t : shot_.tracks) rows_.push_back(arranged(t));
        to_ << "[\n";
        put_name(threads_process, 0, "process_name", "threads");
        for (std::size_t t = 0; t != shot_.tracks.size(); ++t) write_track(t);
        write_arrows();
        if (options_.most_lanes != 0) write_lanes();
        to_ << "\n]\n";
        to_.flush();
    }

private:
    /// The position of an event.
    struct place {
        std::size_t track;
        std::size_t index;
    };

    /// Selects the newest events. Events that end before `oldest_` are not written. Of the events that end at
    /// `oldest_`, the first `ties_` are written, because many events can end at the same time.
    void select() {
        std::size_t count = 0;
        for (const trace::track& t : shot_.tracks) count += t.events.size();
        if (count <= options_.most_events) return;
        if (options_.most_events == 0) {
            oldest_ = std::numeric_limits<std::int64_t>::max();
            ties_ = 0;
            return;
        }
        std::vector<std::int64_t> ends;
        ends.reserve(count);
        for (const trace::track& t : shot_.tracks)
            for (const event& e : t.events) ends.push_back(e.end());
        const auto nth = ends.begin() + static_cast<std::ptrdiff_t>(count - options_.most_events);
        std::nth_element(ends.begin(), nth, ends.end());
        oldest_ = *nth;
        ties_ = static_cast<std::size_t>(std::count(nth, ends.end(), oldest_));
    }
    /// Call this once for each event.
    [[nodiscard]] bool is_selected(const event& e) noexcept {
        if (e.end() != oldest_) return e.end() > oldest_;
        if (ties_ == 0) return false;
        --ties_;
        return true;
    }

    /// Returns the selected events of a thread in the form that viewers need. Slices are nested. No two
    /// events begin at the same time, because the viewer finds the slice of an arrow by its time. Two events
    /// may have the same time, because clocks have a limited resolution. An inner interval may seem to end
    /// after its outer interval, because times are rounded. So this function may move the begin of an event
    /// by some nanoseconds. It cuts the end of an event to the end of the enclosing slice.
    [[nodiscard]] std::vector<event> arranged(const trace::track& of) {
        std::vector<event> chosen;
        std::copy_if(of.events.begin(), of.events.end(), std::back_inserter(chosen),
                     [this](const event& e) { return is_selected(e); });
        sort_stably(chosen, [](const event& a, const event& b) {
            return std::pair(a.begin, -a.length) < std::pair(b.begin, -b.length);
        });
        std::vector<std::int64_t> open; // the ends of the slices that may enclose the next one
        std::int64_t last = -1;
        for (event& e : chosen) {
            const std::int64_t begin = std::max(e.begin, last + 1);
            while (!open.empty() && open.back() <= begin) open.pop_back();
            std::int64_t end = std::max(begin, e.end());
            if (!open.empty()) end = std::min(end, open.back());
            e.begin = last = begin;
            e.length = end - begin;
            if (is_interval(e.kind)) open.push_back(end);
        }
        return chosen;
    }

    json_output& begin_record() {
        to_.flush(longest_piece);
        to_ << (std::exchange(is_first_, false) ? "" : ",\n");
        return to_;
    }
    void put_name(int process, std::uint64_t thread, std::string_view what, std::string_view name) {
        begin_record() << "{\"ph\":\"M\",\"pid\":" << process << ",\"tid\":" << thread << ",\"name\":\""
                       << what << "\",\"args\":{\"name\":";
        to_.put_text(name);
        to_ << "}}";
    }
    void begin_event(char phase, const row& where, std::string_view category, std::string_view name,
                     std::int64_t when) {
        begin_record() << "{\"ph\":\"" << phase << "\",\"pid\":" << where.process
                       << ",\"tid\":" << where.thread << ",\"cat\":\"" << category << "\",\"name\":";
        to_.put_text(name);
        to_ << ",\"ts\":";
        to_.put_time(when);
    }

    void put_slice(const row& where, const event& e) {
        begin_event('X', where, kind_name(e.kind), title(e), e.begin);
        to_ << ",\"dur\":";
        to_.put_time(e.length);
        to_ << ",\"args\":{\"id\":" << e.id << (e.is_open ? ",\"open\":true" : "") << "}}";
    }
    void put_moment(const row& where, const event& e) {
        begin_event('i', where, kind_name(e.kind), title(e), e.begin);
        to_ << ",\"s\":\"t\",\"args\":{\"" << (e.kind == kind::mark ? "value" : "id") << "\":" << e.id
            << "}}";
    }

    [[nodiscard]] row row_of(std::size_t track) const {
        return {threads_process, shot_.tracks[track].thread_id};
    }

    void write_track(std::size_t number) {
        const trace::track& from = shot_.tracks[number];
        const std::vector<event>& events = rows_[number];
        const row where = row_of(number);
        put_name(threads_process, from.thread_id, "thread_name", from.thread_name);
        const std::uint64_t missing = from.overwritten + (from.events.size() - events.size());
        if (missing != 0) {
            event note;
            note.name = "older events are not kept";
            note.id = missing;
            note.begin = events.empty() ? 0 : events.front().begin;
            put_moment(where, note);
        }
        for (const event& e : events) is_interval(e.kind) ? put_slice(where, e) : put_moment(where, e);
    }

    // ---- arrows

    /// Writes an arrow from a moment to another event. Each arrow has an id of its own.
    void put_arrow(std::string_view name, const row& from, std::int64_t sent, const row& to,
                   std::int64_t got) {
        const std::uint64_t id = ++arrows_;
        begin_event('s', from, "flow", name, sent);
        to_ << ",\"id\":" << id << '}';
        begin_event('f', to, "flow", name, got);
        to_ << ",\"bp\":\"e\",\"id\":" << id << '}';
    }

    /// Writes the arrows. An arrow starts at one event and ends at the next event of the matching kind with
    /// the same id. The result is unambiguous, because two objects with the same id do not exist at the same
    /// time. The arrow of a lock wait points to the end of the wait.
    void write_arrows() {
        std::vector<place> all;
        for (std::size_t t = 0; t != rows_.size(); ++t)
            for (std::size_t i = 0; i != rows_[t].size(); ++i) all.push_back({t, i});
        const auto time = [this](const place& p) {
            const event& e = at(p);
            return e.kind == kind::lock_wait ? e.end() : e.begin;
        };
        sort_stably(all, [&](const place& a, const place& b) { return time(a) < time(b); });
        std::unordered_map<std::uint64_t, place> queued;
        std::unordered_map<std::uint64_t, place> granted;
        std::unordered_map<std::uint64_t, place> suspended;
        const auto join = [&](auto& starts, const place& end, std::string_view name) {
            const auto start = starts.find(at(end).id);
            if (start == starts.end()) return;
            put_arrow(name, row_of(start->second.track), at(start->second).begin, row_of(end.track),
                      // the last nanosecond of the wait
                      at(end).kind == kind::lock_wait ? std::max(at(end).begin, time(end) - 1) : time(end));
            starts.erase(start);
        };
        for (const place& p : all) {
            const event& e = at(p);
            switch (e.kind) {
            case kind::queued:
                queued.insert_or_assign(e.id, p);
                break;
            case kind::task:
                if (!e.is_open) join(queued, p, "post");
                break;
            case kind::granted:
                granted.insert_or_assign(e.id, p);
                break;
            case kind::lock_wait:
                if (!e.is_open) join(granted, p, "grant");
                break;
            case kind::suspended:
                suspended.insert_or_assign(e.id, p);
                break;
            case kind::resumed:
                join(suspended, p, "resume");
                break;
            default:
                break;
            }
        }
    }
    [[nodiscard]] const event& at(const place& p) const noexcept { return rows_[p.track][p.index]; }

    // ---- lanes

    /// Writes a track for each lane, with its turns. A lane runs one task at a time, so the turns of a lane
    /// do not overlap.
    void write_lanes() {
        std::map<std::pair<std::string_view, std::uint64_t>, std::vector<const event*>> turns;
        for (const std::vector<event>& events : rows_)
            for (const event& e : events)
                if (e.kind == kind::turn && !e.is_open) turns[{e.name, e.id}].push_back(&e);
        using lane = std::tuple<std::int64_t, std::string, std::vector<const event*>>;
        std::vector<lane> busiest;
        for (auto& [key, list] : turns) {
            std::int64_t busy = 0;
            for (const event* e : list) busy += e->length;
            busiest.emplace_back(busy, std::string(key.first) + ' ' + std::to_string(key.second),
                                 std::move(list));
        }
        sort_stably(busiest, [](const lane& a, const lane& b) { return std::get<0>(a) > std::get<0>(b); });
        const std::size_t shown = std::min(busiest.size(), options_.most_lanes);
        put_name(lanes_process, 0, "process_name",
                 shown == busiest.size() ? "strands and lanes"
                                         : "strands and lanes, the busiest " + std::to_string(shown) + " of "
                                               + std::to_string(busiest.size()));
        for (std::size_t i = 0; i != shown; ++i) {
            auto& [busy, name, list] = busiest[i];
            const row where{lanes_process, i + 1};
            put_name(where.process, where.thread, "thread_name", name);
            sort_stably(list, [](const event* a, const event* b) { return a->begin < b->begin; });
            std::int64_t free_from = 0;
            for (const event* e : list) {
                event cut = *e; // turns of two threads may overlap by a rounding error
                cut.begin = std::max(e->begin, free_from);
                cut.length = std::max<std::int64_t>(0, e->end() - cut.begin);
                free_from = cut.end();
                put_slice(where, cut);
            }
        }
    }

    json_output to_;
    const trace::snapshot& shot_;
    const chrome_trace_options options_;
    std::int64_t oldest_ = 0;
    std::size_t ties_ = std::numeric_limits<std::size_t>::max();
    std::vector<std::vector<event>> rows_; // one for each track
    std::uint64_t arrows_ = 0;
    bool is_first_ = true;
};

} // namespace

void write_chrome_trace(std::ostream& to, const trace::snapshot& shot, const chrome_trace_options& options) {
    writer(to, shot, options).write();
}

} // namespace ekiden::inline EKIDEN_ABI
