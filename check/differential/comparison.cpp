#include <check/differential/comparison.hpp>

#include <check/engine/explorer.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/thread.hpp>

#include <array>
#include <sstream>

namespace ekiden::check::differential {
namespace {

const program* current; // set before the search, so the checker's restores keep it

/// The program as a model. The size of the numbers selects which part of the engine's reduction applies.
template <class Number>
struct machine {
    std::array<sys::atomic<Number>, most_locations> places{};
    std::array<Number, most_steps> values{};

    void execute(const std::vector<step>& steps, std::size_t next_value) {
        for (const step& s : steps) {
            const Number got = execute(s);
            if (reads(s)) values[next_value++] = got;
        }
    }

    Number execute(const step& s) {
        sys::atomic<Number>& at = places[s.location];
        switch (s.what) {
        case action::load:
            return at.load(s.how);
        case action::store:
            at.store(s.operand, s.how);
            return 0;
        case action::exchange:
            return at.exchange(s.operand, s.how);
        case action::fetch_add:
            return at.fetch_add(s.operand, s.how);
        case action::compare_exchange: {
            Number expected = s.expected;
            (void)at.compare_exchange_strong(expected, s.operand, s.how, s.on_failure);
            return expected;
        }
        case action::fence:
            sys::fence(s.how);
            return 0;
        }
        return 0;
    }
};

template <class Number>
void body() {
    machine<Number> m;
    std::array<sys::thread, most_threads> threads;
    std::size_t next_value = 0;
    for (std::size_t t = 0; t < current->threads.size(); ++t) {
        const std::vector<step>& steps = current->threads[t];
        threads[t] = sys::thread([&m, &steps, next_value] { m.execute(steps, next_value); });
        for (const step& s : steps) next_value += reads(s) ? 1 : 0;
    }
    for (std::size_t t = 0; t < current->threads.size(); ++t) threads[t].join();
    std::array<std::int64_t, most_steps + most_locations> seen{};
    for (std::size_t i = 0; i < next_value; ++i) seen[i] = m.values[i];
    for (std::size_t l = 0; l < current->locations; ++l)
        seen[next_value++] = m.places[l].load(std::memory_order_relaxed);
    static_assert(most_steps + most_locations == 11);
    check::outcome(
        {seen[0], seen[1], seen[2], seen[3], seen[4], seen[5], seen[6], seen[7], seen[8], seen[9], seen[10]});
}

std::set<outcome> parsed(const std::set<std::string>& texts, std::size_t size) {
    std::set<outcome> all;
    for (const std::string& text : texts) {
        std::istringstream in(text);
        outcome one(size);
        for (int& value : one) in >> value;
        all.insert(std::move(one));
    }
    return all;
}

/// Returns the outcomes in `all` that are not in `without`, one per line.
std::string lines(const std::set<outcome>& all, const std::set<outcome>& without) {
    std::string text;
    for (const outcome& one : all) {
        if (without.contains(one)) continue;
        text += "   ";
        for (const int value : one) text += " " + std::to_string(value);
        text += '\n';
    }
    return text.empty() ? "    none\n" : text;
}

} // namespace

comparison compare(std::uint64_t seed, std::string_view broken) {
    const program p = make_program(seed);
    const allowed expected = enumerate(p);
    current = &p;
    const bool wide = seed % 2 == 0;
    const model m{"differential",
                  "differential",
                  {.load_buffering = false, .preemptions = 100},
                  wide ? body<std::int64_t> : body<std::int32_t>};
    const result r = explore(m, {.bound = 100, .seconds = 600, .broken = broken});
    current = nullptr;
    const std::size_t size = expected.in_order.begin()->size();
    const std::set<outcome> seen = parsed(r.found.outcomes, size);
    comparison c;
    c.executions = r.executions;
    c.same = !r.failed && r.unbounded && seen == expected.in_order;
    c.more_in_cpp = expected.by_standard != expected.in_order;
    c.report = "seed " + std::to_string(seed) + "\n" + to_text(p)
               + "What is read, in the order of threads and steps, then the last value of each location.\n"
               + (r.failed ? "the checker fails: " + r.failure + "\n" : std::string())
               + (r.unbounded ? "" : "the checker did not search to the end\n")
               + "allowed and explored: " + std::to_string(seen.size()) + " outcomes of the checker's, "
               + std::to_string(expected.in_order.size())
               + " of the enumerator's\nexplored but not allowed:\n" + lines(seen, expected.in_order)
               + "allowed but not explored:\n" + lines(expected.in_order, seen)
               + "allowed by C++20 only (seq_cst out of the order of execution):\n"
               + lines(expected.by_standard, expected.in_order) + "both:\n";
    std::set<outcome> only_seen = seen;
    for (const outcome& one : expected.in_order) only_seen.erase(one);
    c.report += lines(seen, only_seen);
    return c;
}

} // namespace ekiden::check::differential
