#include <check/differential/program.hpp>

#include <algorithm>
#include <array>
#include <random>

namespace ekiden::check::differential {
namespace {

class maker {
public:
    explicit maker(std::uint64_t seed) : random_(seed) {}

    program make() {
        program p;
        p.locations = std::array{1U, 2U, 2U, 2U, 3U}[below(5)];
        const bool two = below(2) == 0;
        const std::size_t count = two ? 2 : most_threads;
        p.threads.resize(count);
        for (std::vector<step>& t : p.threads) {
            const unsigned length = two ? 2 + below(3) : 1 + below(3);
            while (t.size() < length && steps_ < most_steps) t.push_back(next(p.locations));
        }
        return p;
    }

private:
    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

    step next(unsigned locations) {
        static constexpr std::array kinds{action::load,     action::load,      action::load,
                                          action::load,     action::store,     action::store,
                                          action::store,    action::fence,     action::fence,
                                          action::exchange, action::fetch_add, action::compare_exchange};
        ++steps_;
        step s;
        s.what = kinds[below(kinds.size())];
        s.how = order_of(s.what);
        if (s.what == action::fence) return s;
        s.location = below(locations);
        if (s.what != action::load) s.operand = ++values_; // each value is written only once, except by sums
        if (s.what != action::compare_exchange) return s;
        s.expected = static_cast<int>(below(static_cast<unsigned>(values_)));
        s.on_failure = order_of(action::load);
        return s;
    }

    /// Draws a memory order. Relaxed is the most frequent one, so that fences and few other operations order.
    std::memory_order order_of(action what) {
        const unsigned drawn = below(4);
        if (what != action::fence && drawn < 2) return std::memory_order_relaxed;
        if (drawn == 0 || drawn == 2) return std::memory_order_seq_cst;
        if (what == action::load) return std::memory_order_acquire;
        if (what == action::store) return std::memory_order_release;
        return std::array{std::memory_order_acquire, std::memory_order_release,
                          std::memory_order_acq_rel}[below(3)];
    }

    std::mt19937_64 random_;
    unsigned steps_ = 0;
    int values_ = 0;
};

const char* name_of(std::memory_order how) {
    switch (how) {
    case std::memory_order_relaxed:
        return "relaxed";
    case std::memory_order_acquire:
        return "acquire";
    case std::memory_order_release:
        return "release";
    case std::memory_order_acq_rel:
        return "acq_rel";
    default:
        return "seq_cst";
    }
}

std::string to_text(const step& s) {
    if (s.what == action::fence) return std::string("fence(") + name_of(s.how) + ")";
    static constexpr std::array names{"load", "store", "exchange", "fetch_add", "compare_exchange"};
    std::string text =
        std::string(1, "xyz"[s.location]) + "." + names[static_cast<std::size_t>(s.what)] + "(";
    if (s.what == action::compare_exchange) text += std::to_string(s.expected) + ", ";
    if (s.what != action::load) text += std::to_string(s.operand) + ", ";
    text += name_of(s.how);
    if (s.what == action::compare_exchange) text += std::string(", ") + name_of(s.on_failure);
    return text + ")";
}

} // namespace

program make_program(std::uint64_t seed) { return maker(seed).make(); }

std::string to_text(const program& p) {
    constexpr std::size_t width = 44;
    std::size_t lines = 0;
    for (const std::vector<step>& t : p.threads) lines = std::max(lines, t.size());
    std::string text;
    for (std::size_t line = 0; line < lines; ++line) {
        for (const std::vector<step>& t : p.threads) {
            std::string cell = line < t.size() ? to_text(t[line]) : "";
            cell.resize(std::max(cell.size() + 2, width), ' ');
            text += cell;
        }
        text.erase(text.find_last_not_of(' ') + 1);
        text += '\n';
    }
    return text;
}

} // namespace ekiden::check::differential
