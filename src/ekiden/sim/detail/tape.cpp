#include <ekiden/sim/detail/tape.hpp>

#include <ekiden/sys/bad_argument.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::sim {

namespace {

constexpr std::array<char, streams> letters{'s', 'f', 'd'};

void append_number(std::string& text, std::uint64_t number) { text += std::to_string(number); }

/// Appends all values, as a text such as "3,0*12,1". A repeated value appears once, with a count behind the
/// `*`.
void append_choices(std::string& text, const std::vector<choice>& choices) {
    for (std::size_t i = 0; i != choices.size();) {
        std::size_t end = i + 1;
        while (end != choices.size() && choices[end].value == choices[i].value) ++end;
        if (i != 0) text += ',';
        append_number(text, choices[i].value);
        if (end - i > 1) {
            text += '*';
            append_number(text, end - i);
        }
        i = end;
    }
}

[[noreturn]] void refuse(std::string_view text) {
    sys::refuse_argument("sim::replay", "tape", "'" + std::string(text) + "'", "the text of a report");
}

struct reader {
    std::string_view all;
    std::string_view left;

    std::uint32_t number() {
        std::uint32_t value = 0;
        const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), value);
        if (error != std::errc()) refuse(all);
        left.remove_prefix(static_cast<std::size_t>(end - left.data()));
        return value;
    }
    bool skip(char expected) {
        if (left.empty() || left.front() != expected) return false;
        left.remove_prefix(1);
        return true;
    }
    void choices(std::vector<choice>& to) {
        if (left.empty() || left.front() == ';') return;
        do {
            const std::uint32_t value = number();
            const std::uint32_t count = skip('*') ? number() : 1;
            if (count > 10'000'000) refuse(all);
            to.insert(to.end(), count, choice{~0U, value});
        } while (skip(','));
    }
};

} // namespace

std::size_t tape::weight() const noexcept {
    std::size_t sum = 0;
    for (const auto& each : choices) {
        sum += static_cast<std::size_t>(
            std::count_if(each.begin(), each.end(), [](const choice& c) { return c.value != 0; }));
    }
    return sum;
}

void tape::trim() noexcept {
    for (auto& each : choices) {
        while (!each.empty() && each.back().value == 0) each.pop_back();
    }
}

std::string tape::text() const {
    std::string text = "1;";
    append_number(text, faults.bits());
    for (std::size_t i = 0; i != streams; ++i) {
        if (choices[i].empty()) continue;
        (text += ';') += letters[i];
        append_choices(text, choices[i]);
    }
    return text;
}

tape tape::parse(std::string_view text) {
    tape made;
    reader in{text, text};
    if (in.number() != 1 || !in.skip(';')) refuse(text); // version of the format
    made.faults = fault_set::of_bits(in.number() & fault_set::all().bits());
    while (in.skip(';')) {
        const auto* const letter =
            in.left.empty() ? letters.end() : std::find(letters.begin(), letters.end(), in.left.front());
        if (letter == letters.end()) refuse(text);
        in.left.remove_prefix(1);
        in.choices(made.choices[static_cast<std::size_t>(letter - letters.begin())]);
    }
    if (!in.left.empty()) refuse(text);
    return made;
}

} // namespace ekiden::inline EKIDEN_ABI::sim
