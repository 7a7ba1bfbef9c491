#include <ekiden/sim/explore.hpp>

#include <ekiden/sim/detail/runner.hpp>
#include <ekiden/sim/detail/shrink.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::sim {

namespace {

constexpr std::size_t most_lines = 60; // largest number of lines of a timeline in a report

void print(const options& chosen, const report& found) {
    if (chosen.prints) std::fprintf(stderr, "%s", found.text.c_str());
}

void take(const run_answer& from, report& to) {
    to.runs += from.runs;
    to.steps += from.steps;
    for (const auto& [mark, count] : from.marks) to.reached[mark] += count;
}

/// Fills the report with the failure that the run `shown` has found.
void tell(report& to, const outcome& shown, const std::string& how) {
    to.kind = shown.found.kind;
    to.why = std::string(name_of(shown.found.kind)) + ": " + shown.found.why;
    tape smallest = shown.made;
    smallest.trim();
    to.replay = smallest.text();
    to.shrunk_choices = smallest.weight();
    to.shrunk_steps = shown.step_count;
    to.text = "ekiden: simulation: " + to.why + "\n" + how + shown.steps.text(most_lines)
              + shown.found.details + "  replay: ekiden::sim::replay(\"" + to.replay
              + "\", test), with the same build\n";
}

/// Shrinks the failing run `failed`, then fills the report with the result.
void shrink_and_tell(report& to, runner& with, const options& chosen, outcome failed, std::string how) {
    to.choices = failed.made.weight();
    const std::uint32_t steps = failed.step_count;
    const bool shrinks = chosen.max_shrinks != 0 && failed.found.kind != verdict::irreproducible;
    const outcome smallest =
        shrinks ? shrinker(with, std::move(failed), chosen.max_shrinks).run() : std::move(failed);
    how += "  " + std::to_string(to.choices) + " choices that are not dull -> "
           + std::to_string(smallest.made.weight()) + ", " + std::to_string(steps) + " steps -> "
           + std::to_string(smallest.step_count) + "\n";
    tell(to, smallest, how);
}

void tell_of_seed(report& to, runner& with, const options& chosen, run_answer&& answer) {
    to.seed = answer.seed;
    to.found_by = answer.last.by;
    std::string how = "  seed " + std::to_string(answer.seed) + ", after " + std::to_string(to.runs)
                      + " runs; " + answer.last.plan + "\n";
    shrink_and_tell(to, with, chosen, std::move(answer.last), std::move(how));
}

} // namespace

namespace {

/// Returns the last seed to run. The result is limited to the largest seed.
std::uint64_t last_seed(const options& chosen) {
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() - chosen.first;
    return chosen.first + std::min(most, chosen.seeds - 1);
}

} // namespace

report detail::explore(const options& chosen, test_reference test) {
    check_options(chosen);
    runner with(test, chosen);
    report result;
    // The dull run counts its choices. The plans of the other seeds depend on the number of these choices.
    run_answer answer = with.run({});
    if (chosen.first == 0) take(answer, result);
    if (answer.last.is_clean() && chosen.seeds > (chosen.first == 0 ? 1U : 0U)) {
        const std::uint64_t from = chosen.first == 0 ? 1 : chosen.first;
        answer =
            with.run({.seed = from, .last = last_seed(chosen), .expected = answer.last.schedule_choices});
        take(answer, result);
    }
    if (answer.last.is_clean()) return result;
    tell_of_seed(result, with, chosen, std::move(answer));
    print(chosen, result);
    return result;
}

report detail::replay(std::string_view text, const options& chosen, test_reference test) {
    check_options(chosen);
    const tape played = tape::parse(text);
    runner with(test, chosen);
    report result;
    const run_answer answer = with.run({.played = &played});
    take(answer, result);
    if (answer.last.is_clean()) return result;
    result.choices = played.weight();
    tell(result, answer.last, "  replayed\n");
    print(chosen, result);
    return result;
}

namespace {

/// Appends all tapes that begin with `from` and have one more choice that is not dull. `made` is the complete
/// tape that a run of `from` has recorded.
void append_children(const tape& from, const tape& made, std::vector<tape>& to) {
    const std::vector<choice>& choices = made.of(stream::schedule);
    for (std::size_t i = choices.size(); i-- > from.of(stream::schedule).size();) {
        for (std::uint32_t value = choices[i].range; --value != 0;) {
            tape child = from;
            child.of(stream::schedule).resize(i);
            child.of(stream::schedule).push_back({choices[i].range, value});
            to.push_back(std::move(child));
        }
    }
}

} // namespace

report detail::explore_all(const options& chosen, unsigned bound, test_reference test) {
    check_options(chosen);
    runner with(test, chosen);
    report result;
    std::vector<tape> left(1); // the dull tape
    while (!left.empty()) {
        if (result.runs >= chosen.seeds) return result;
        const tape next = std::move(left.back());
        left.pop_back();
        run_answer answer = with.run({.played = &next});
        take(answer, result);
        if (!answer.last.is_clean()) {
            shrink_and_tell(result, with, chosen, std::move(answer.last),
                            "  run " + std::to_string(result.runs) + " of all schedules\n");
            print(chosen, result);
            return result;
        }
        if (next.weight() < bound) append_children(next, answer.last.made, left);
    }
    result.is_complete = true;
    return result;
}

} // namespace ekiden::inline EKIDEN_ABI::sim
