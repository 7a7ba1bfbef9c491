#include <ekiden/sim/detail/shrink.hpp>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::sim {

namespace {

constexpr std::array<stream, streams> all_streams{stream::faults, stream::data, stream::schedule};

/// Returns the size of an outcome. A comparison of two sizes compares the number of choices that are not
/// dull, then the sum of the values of the choices, then the number of steps.
auto size_of(const outcome& o) {
    std::uint64_t sum = 0;
    for (const auto& each : o.made.choices) {
        for (const choice& c : each) sum += c.value;
    }
    return std::tuple(o.made.weight(), sum, o.step_count);
}

} // namespace

/// Runs the candidate. If the candidate fails in the same way and is smaller, keeps the candidate and returns
/// true.
bool shrinker::try_tape(tape candidate) {
    if (left_ == 0) return false;
    --left_;
    candidate.trim();
    run_answer answer;
    try {
        answer = with_.run({.played = &candidate});
    } catch (...) { // Keeps the failure that was found before.
        left_ = 0;
        return false;
    }
    outcome& found = answer.last;
    if (found.found.kind != smallest_.found.kind || found.found.why != smallest_.found.why) return false;
    if (size_of(found) >= size_of(smallest_)) return false;
    found.made.trim();
    smallest_ = std::move(found);
    return true;
}

/// For each kind of fault, tries to remove all choices of this kind. The run then behaves as if this kind had
/// never been on.
bool shrinker::switch_faults_off() {
    bool any = false;
    for (std::size_t i = 0; i != fault_kinds; ++i) {
        const auto kind = static_cast<fault>(i);
        if (!smallest_.made.faults.has(kind)) continue;
        tape without = smallest_.made;
        without.faults.remove(kind);
        std::erase_if(without.of(stream::faults), [kind](const choice& c) { return c.kind == kind; });
        if (try_tape(std::move(without))) {
            any = true;
        } else { // Keeps this kind on, but sets all its choices to 0, so that no fault occurs.
            tape zeroed = smallest_.made;
            for (choice& c : zeroed.of(stream::faults)) c.value = c.kind == kind ? 0 : c.value;
            any = try_tape(std::move(zeroed)) || any;
        }
    }
    return any;
}

/// Tries to delete spans of choices, or to set them to zero. Begins with the longest spans.
bool shrinker::change_spans(stream of, bool deletes) {
    bool any = false;
    for (std::size_t length = smallest_.made.of(of).size(); length != 0; length /= 2) {
        for (std::size_t at = 0; at < smallest_.made.of(of).size() && left_ != 0;) {
            tape changed = smallest_.made;
            std::vector<choice>& list = changed.of(of);
            const auto first = list.begin() + static_cast<std::ptrdiff_t>(at);
            const auto last = first + static_cast<std::ptrdiff_t>(std::min(length, list.size() - at));
            const bool is_dull = std::all_of(first, last, [](const choice& c) { return c.value == 0; });
            if (deletes)
                list.erase(first, last);
            else
                std::for_each(first, last, [](choice& c) { c.value = 0; });
            if ((deletes || !is_dull) && try_tape(std::move(changed)))
                any = true;
            else
                at += length;
        }
    }
    return any;
}

bool shrinker::lower_values(stream of) {
    bool any = false;
    for (std::size_t i = 0; i < smallest_.made.of(of).size(); ++i) {
        const std::uint32_t value = smallest_.made.of(of)[i].value;
        for (const std::uint32_t lower : {value / 2, value - 1}) {
            if (value < 2 || i >= smallest_.made.of(of).size()) break;
            tape changed = smallest_.made;
            changed.of(of)[i].value = lower;
            if (try_tape(std::move(changed))) {
                any = true;
                break;
            }
        }
    }
    return any;
}

outcome shrinker::run() {
    for (bool any = true; any && left_ != 0;) {
        any = switch_faults_off();
        for (const stream s : all_streams) {
            any = change_spans(s, false) || any;
            any = change_spans(s, true) || any;
            any = lower_values(s) || any;
        }
    }
    return std::move(smallest_);
}

} // namespace ekiden::inline EKIDEN_ABI::sim
