#include <check/engine/explorer.hpp>
#include <check/engine/text.hpp>
#include <check/engine/watch.hpp>

#include <time.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace ekiden::check {
namespace {

/// Returns the processor time of this process in seconds. Searches are limited by processor time, so that
/// other programs on the machine do not shorten them.
double processor_seconds() {
    timespec spent{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

/// Returns the replay string "BOUND,oOLD,REDUCE,WEAK,c.c.c". The last part has the choices. zN stands for N
/// zeros, and zeros at the end are omitted.
std::string encode(const engine& e, std::size_t used) {
    std::string out = (e.bound > 99 ? std::string("x") : std::to_string(e.bound))
                      + (e.old_bound != unbounded ? "o" + std::to_string(e.old_bound) : "")
                      + (e.reducing ? "r" : "n") + (e.weak ? "w" : "s");
    std::size_t zeros = 0;
    for (std::size_t i = 0; i < used; ++i) {
        const unsigned taken = e.path[i].taken;
        if (taken == 0) {
            ++zeros;
            continue;
        }
        if (zeros != 0) out += "." + (zeros == 1 ? std::string("0") : "z" + std::to_string(zeros));
        zeros = 0;
        out += "." + std::to_string(taken);
    }
    return out;
}

[[noreturn]] void no_replay(std::string_view text) {
    throw std::invalid_argument(
        "'" + std::string(text)
        + "' is no replay string; expected what a failure printed, for example 3rw.z12.1");
}

unsigned number(std::string_view all, std::string_view part, unsigned most = ~0U) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc{} || end != part.data() + part.size() || value > most) no_replay(all);
    return value;
}

void decode(engine& e, std::string_view text) {
    const std::size_t head = std::min(text.find('.'), text.size());
    const std::string_view first = text.substr(0, head);
    if (first.size() < 3) no_replay(text);
    e.weak = first.back() == 'w';
    e.reducing = first[first.size() - 2] == 'r';
    if ((!e.weak && first.back() != 's') || (!e.reducing && first[first.size() - 2] != 'n')) no_replay(text);
    const std::string_view bound = first.substr(0, first.size() - 2);
    const std::size_t old = std::min(bound.find('o'), bound.size());
    const auto bound_in = [&](std::string_view part) { return part == "x" ? unbounded : number(text, part); };
    e.bound = bound_in(bound.substr(0, old));
    e.old_bound = old == bound.size() ? unbounded : bound_in(bound.substr(old + 1));
    e.path.clear();
    for (std::size_t at = head; at < text.size();) {
        const std::size_t end = std::min(text.find('.', at + 1), text.size());
        const std::string_view part = text.substr(at + 1, end - at - 1);
        at = end;
        if (part.starts_with('z'))
            e.path.resize(e.path.size() + number(text, part.substr(1), 1'000'000), {0, 0});
        else
            e.path.push_back({0, number(text, part)});
    }
}

bool same(const event& a, const event& b) {
    return a.thread == b.thread && a.line == b.line && a.what == b.what && a.value == b.value
           && a.file == b.file;
}

std::string table(const engine& e) {
    std::string out;
    std::size_t what = 0;
    std::size_t where = 0;
    std::size_t value = 0;
    for (const event& it : e.events) {
        what = std::max(what, it.what.size());
        value = std::max(value, it.value.size());
        where = std::max(where, text::short_path(it.file).size() + 5);
    }
    std::size_t line = 0;
    std::size_t repeated = 0;
    for (const event& it : e.events) {
        // Rounds of a spin loop: only the first round is shown.
        if (line != 0 && same(it, e.events[line - 1])) {
            ++line;
            ++repeated;
            continue;
        }
        if (std::exchange(repeated, 0) != 0) out += "     ... the same again\n";
        const auto padded = [](std::string s, std::size_t width) {
            s.resize(std::max(s.size(), width), ' ');
            return s + "  ";
        };
        out += padded("#" + std::to_string(line++), 5) + std::string(it.thread * 2UL, ' ')
               + padded("T" + std::to_string(it.thread), 16 - it.thread * 2UL)
               + padded(text::short_path(it.file) + ":" + std::to_string(it.line), where)
               + padded(it.what, what) + padded(it.value, value) + it.why;
        while (out.ends_with(' ')) out.pop_back();
        out += '\n';
    }
    return out;
}

/// Runs the failing execution again with the trace on, and writes the report.
void explain(engine& e, const model& m, result& into) {
    const std::size_t used = e.position;
    into.failed = true;
    into.replay = encode(e, used);
    const bool was_random = std::exchange(e.randomly, false);
    e.path.resize(used);
    e.tracing = true;
    const std::string first = e.found.failure;
    (void)e.execute(m);
    e.tracing = false;
    e.randomly = was_random;
    into.failure = e.found.failure;
    if (e.found.failure != first)
        into.failure = first + "\n(and otherwise when run again: " + into.failure + ")";
    into.table = table(e);
}

/// Advances to the next path in depth-first order. Returns false if there is none.
bool advance(std::vector<choice>& path) {
    while (!path.empty() && path.back().taken + 1 >= path.back().count) path.pop_back();
    if (path.empty()) return false;
    ++path.back().taken;
    return true;
}

void prepare(engine& e, const model& m, const std::optional<mutation>& mutant) {
    e.found = {};
    e.known_sites.clear();
    e.broken = {};
    e.mutant = mutant;
    if (!mutant && !m.how.mutant.empty()) e.mutant = mutation{.name = std::string(m.how.mutant)};
    e.mutate_order = mutant && mutant->name.empty();
    e.weak = m.how.weak_memory;
    e.reducing = m.how.reduce;
    e.randomly = e.tracing = e.discovering = false;
    e.keep_statics();
}

} // namespace

/// The searches. A friend of the engine.
class explorer {
public:
    explorer(const model& m, const search& how) : m_(m), how_(how) {
        prepare(e_, m, how.mutant);
        e_.broken = how.broken;
    }

    result run() {
        const watch silence(how_.silence_ms);
        e_.discovering = how_.discover;
        if (how_.random)
            at_random();
        else
            depth_first();
        e_.discovering = false;
        if (out_.failed) explain(e_, m_, out_);
        e_.put_back_statics();
        out_.seconds = processor_seconds() - start_;
        out_.found = e_.found;
        return std::move(out_);
    }

private:
    bool spent() {
        if (out_.executions >= how_.executions) return true;
        return (out_.executions & 63U) == 0 && processor_seconds() - start_ > how_.seconds;
    }

    /// Returns false if the execution failed.
    bool once() {
        const engine::ending end = e_.execute(m_);
        ++out_.executions;
        out_.steps += e_.steps;
        if (end == engine::ending::redundant) ++out_.redundant;
        if (end == engine::ending::failed) out_.failed = true;
        return !out_.failed;
    }

    void depth_first() {
        e_.old_bound = how_.old_values;
        for (unsigned bound = 0; bound <= how_.bound; ++bound) {
            e_.bound = bound;
            e_.path.clear();
            bool limited = false;
            do {
                if (spent() || !once()) return;
                limited = limited || e_.limited_here;
            } while (advance(e_.path));
            out_.bound = bound;
            if (!limited) {
                out_.unbounded = true;
                break;
            }
        }
        out_.complete = true;
    }

    void at_random() {
        e_.randomly = true;
        e_.reducing = false;
        e_.bound = e_.old_bound = unbounded;
        std::uint64_t average = 40;
        for (std::uint64_t i = 0; !spent(); ++i) {
            e_.path.clear();
            e_.random_state = (how_.seed + i) * 0x9E3779B97F4A7C15U | 1U;
            for (int skip = 0; skip < 4; ++skip) (void)e_.random();
            e_.change_points.clear();
            for (unsigned k = 0; k < how_.bound; ++k)
                e_.change_points.push_back(static_cast<unsigned>(1 + e_.random() % average));
            if (!once()) return;
            average = std::max<std::uint64_t>(10, out_.steps / out_.executions);
        }
    }

    engine& e_ = the_engine();
    const model& m_;
    const search& how_;
    result out_;
    double start_ = processor_seconds();
};

result explore(const model& m, const search& how) { return explorer(m, how).run(); }

result replay(const model& m, std::string_view text, std::optional<mutation> mutant) {
    engine& e = the_engine();
    prepare(e, m, mutant);
    decode(e, text);
    const watch silence(search{}.silence_ms);
    result out;
    out.executions = 1;
    e.tracing = true;
    out.failed = e.execute(m) == engine::ending::failed;
    e.tracing = false;
    e.put_back_statics();
    out.failure = e.found.failure;
    out.table = table(e);
    out.replay = text;
    out.steps = e.steps;
    out.found = e.found;
    return out;
}

} // namespace ekiden::check
