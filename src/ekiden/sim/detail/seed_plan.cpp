#include <ekiden/sim/detail/seed_plan.hpp>

#include <algorithm>

namespace ekiden::inline EKIDEN_ABI::sim {

namespace {

/// Returns the start value of random sequence number `which` of a seed. The sequences of a seed are
/// independent.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t which) {
    std::uint64_t h = seed * 3 + which + 1;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9U;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebU;
    return h ^ (h >> 31);
}

constexpr std::uint32_t most_jumps = 64;
constexpr std::uint64_t drawn_priority = std::uint64_t{1} << 32;

} // namespace

seed_plan::seed_plan(std::uint64_t seed, const options& chosen, std::uint32_t expected)
    : random_(mixed(seed, 0)), fault_random_(mixed(seed, 1)), data_random_(mixed(seed, 2)),
      kind_(scheduler::dull), low_priorities_(drawn_priority - 1) {
    expected = std::max(expected, 4U);
    fair_from_ = 1000 + 20 * expected;
    if (seed == 0) return; // Seed 0 has the dull scheduler and no faults.
    const auto drawn = static_cast<scheduler>(1 + random_.below(3));
    kind_ = chosen.only.value_or(drawn);
    constexpr unsigned permilles[] = {0, 20, 100, 300};
    time_permille_ = permilles[random_.below(4)];
    time_is_low_ = random_.below(2) == 0;
    delays_behind_time_ = random_.below(2) == 0;
    if (kind_ == scheduler::priorities) draw_points(1 + random_.below(3), expected);
    if (kind_ == scheduler::delay_bounded) draw_points(1 + random_.below(3), expected);
    draw_faults(chosen.faults);
}

void seed_plan::draw_points(unsigned count, std::uint32_t expected) {
    while (count-- != 0) points_.push_back(random_.below(expected));
    std::sort(points_.begin(), points_.end());
}

/// Draws which kinds of faults are on. Some bugs appear only with few faults, so a seed turns some kinds of
/// faults off.
void seed_plan::draw_faults(fault_set allowed) {
    for (std::size_t i = 0; i != fault_kinds; ++i) {
        const auto kind = static_cast<fault>(i);
        if (allowed.has(kind) && fault_random_.below(2) == 0) allowed.remove(kind);
        rates_[i] = 0x8000U >> fault_random_.below(6);
    }
    faults_ = allowed;
    fault_budget_ = faults_allowed_ = 1U << fault_random_.below(5);
}

bool seed_plan::is_point() const noexcept {
    return std::binary_search(points_.begin(), points_.end(), choices_);
}

std::uint32_t seed_plan::pick(std::span<const std::uint32_t> chains) {
    std::uint32_t picked = 0;
    if (kind_ != scheduler::dull) {
        if (kind_ == scheduler::random || choices_ >= fair_from_)
            picked = pick_at_random(chains);
        else if (kind_ == scheduler::priorities)
            picked = pick_by_priority(chains);
        else
            picked = pick_undelayed(chains);
    }
    ++choices_;
    jumps_ = chains[picked] == time_chain ? jumps_ + 1 : 0;
    if (jumps_ <= most_jumps) return picked;
    jumps_ = 0;
    return 0;
}

std::uint32_t seed_plan::pick_at_random(std::span<const std::uint32_t> chains) {
    auto count = static_cast<std::uint32_t>(chains.size());
    if (chains.back() == time_chain) {
        if (random_.below(1000) < time_permille_) return count - 1;
        --count;
    }
    return random_.below(count);
}

std::uint64_t& seed_plan::priority_of(std::uint32_t chain) {
    while (priorities_.size() <= chain) {
        const bool is_low_time = priorities_.size() == time_chain && time_is_low_;
        priorities_.push_back(is_low_time ? 0 : drawn_priority + random_.next());
    }
    return priorities_[chain];
}

std::uint32_t seed_plan::pick_by_priority(std::span<const std::uint32_t> chains) {
    const auto best = [&] {
        std::size_t highest = 0;
        for (std::size_t i = 1; i != chains.size(); ++i) {
            if (priority_of(chains[i]) > priority_of(chains[highest])) highest = i;
        }
        return static_cast<std::uint32_t>(highest);
    };
    const std::uint32_t picked = best();
    if (!is_point()) return picked;
    priority_of(chains[picked]) = low_priorities_--; // The new priority is below all drawn priorities.
    return best();
}

std::uint32_t seed_plan::first_undelayed(std::span<const std::uint32_t> chains) const {
    const auto is_delayed = [this](std::uint32_t chain) {
        if (chain == time_chain) return !delays_behind_time_;
        return std::any_of(delays_.begin(), delays_.end(),
                           [chain](const delay& d) { return d.chain == chain; });
    };
    const auto first = std::find_if_not(chains.begin(), chains.end(), is_delayed);
    return first == chains.end() ? 0 : static_cast<std::uint32_t>(first - chains.begin());
}

std::uint32_t seed_plan::pick_undelayed(std::span<const std::uint32_t> chains) {
    std::erase_if(delays_, [](delay& d) { return d.left != until_idle && d.left-- == 0; });
    if (is_point()) {
        const std::uint32_t head = chains[first_undelayed(chains)];
        if (head != time_chain) {
            const auto round = static_cast<std::uint32_t>(chains.size());
            delays_.push_back({head, random_.below(2) == 0 ? round : until_idle});
        }
    }
    const std::uint32_t picked = first_undelayed(chains);
    // Time may move before a chain runs only if a chain is delayed.
    if (chains[picked] == time_chain && delays_.empty()) return 0;
    const std::uint32_t chain = chains[picked];
    std::erase_if(delays_, [chain](const delay& d) { return d.chain == chain; });
    return picked;
}

std::uint32_t seed_plan::pick_lane(std::uint32_t ready) {
    const bool is_dull = kind_ == scheduler::dull || (kind_ == scheduler::delay_bounded && !is_point());
    ++choices_;
    return is_dull ? 0 : random_.below(ready);
}

std::uint32_t seed_plan::pick_fault(fault kind, std::uint32_t range) {
    if (fault_budget_ == 0 || range < 2) return 0;
    if ((fault_random_.next() & 0xffffU) >= rates_[static_cast<std::size_t>(kind)]) return 0;
    --fault_budget_;
    return 1 + fault_random_.below(range - 1);
}

std::string seed_plan::describe() const {
    std::string text = name_of(kind_);
    if (!points_.empty()) {
        text += kind_ == scheduler::priorities ? ", changes at choices" : ", delays at choices";
        for (const std::uint32_t point : points_) text += " " + std::to_string(point);
    }
    if (kind_ == scheduler::random)
        text += ", time moves " + std::to_string(time_permille_) + " times in 1000";
    if (kind_ == scheduler::priorities && !time_is_low_) text += ", time has a priority";
    if (kind_ == scheduler::delay_bounded && delays_behind_time_) text += ", time passes what is delayed";
    if (faults_.empty()) return text + "; no faults";
    text += "; at most " + std::to_string(faults_allowed_) + " faults";
    for (std::size_t i = 0; i != fault_kinds; ++i) {
        const auto kind = static_cast<fault>(i);
        if (faults_.has(kind))
            text += std::string(", ") + name_of(kind) + " 1/" + std::to_string(0x10000U / rates_[i]);
    }
    return text;
}

// ---- names

const char* name_of(scheduler kind) noexcept {
    constexpr const char* names[] = {"dull", "random", "priorities", "delay-bounded"};
    return names[static_cast<std::size_t>(kind)];
}

const char* name_of(fault kind) noexcept {
    constexpr const char* names[] = {
        "late tasks", "late timers",   "throwing",  "ending in the middle", "failed allocations",
        "slow links", "lost messages", "cut links", "duplicated messages",  "crashes"};
    return names[static_cast<std::size_t>(kind)];
}

const char* name_of(verdict kind) noexcept {
    constexpr const char* names[] = {"nothing is wrong",
                                     "an expectation does not hold",
                                     "an exception",
                                     "order violated",
                                     "done more than once",
                                     "used after its end",
                                     "stuck",
                                     "no progress",
                                     "work lost",
                                     "a call that blocks the thread",
                                     "two runs of the same choices differ",
                                     "a part of the program cannot be simulated"};
    return names[static_cast<std::size_t>(kind)];
}

} // namespace ekiden::inline EKIDEN_ABI::sim
