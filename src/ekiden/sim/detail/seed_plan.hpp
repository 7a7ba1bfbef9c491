/// What a seed draws: a scheduler, which faults are on and how often they come, and with these each choice.
///
/// Part: sim. Used by: the simulation, where it plays no tape; explore. Private.
///
/// Three schedulers, because each finds what the others miss: uniformly random; priorities with change points
/// (S. Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", 2010); and
/// few delays of an otherwise dull order (M. Emmi et al., "Delay-Bounded Scheduling", 2011). What is
/// different here: time is one more that can be next, and a delayed one may stay so until nothing else can
/// run.
#pragma once

#include <ekiden/sim/fault.hpp>
#include <ekiden/sim/options.hpp>
#include <ekiden/sys/random.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::sim {

class seed_plan {
public:
    /// `expected`: how many choices of the schedule a run makes, about.
    seed_plan(std::uint64_t seed, const options& chosen, std::uint32_t expected);

    [[nodiscard]] scheduler kind() const noexcept { return kind_; }
    [[nodiscard]] fault_set faults() const noexcept { return faults_; }

    /// The next one: an index of `chains`, which are sorted, the oldest first, and time, chain 0, last. Where
    /// somebody is running and can be interrupted, that comes first.
    [[nodiscard]] std::uint32_t pick(std::span<const std::uint32_t> chains);
    /// Which of so many lanes that are ready.
    [[nodiscard]] std::uint32_t pick_lane(std::uint32_t ready);
    /// 0: no fault of this kind, which is on.
    [[nodiscard]] std::uint32_t pick_fault(fault kind, std::uint32_t range);
    [[nodiscard]] std::uint32_t pick_data(std::uint32_t range) { return data_random_.below(range); }

    /// All that was drawn, in words.
    [[nodiscard]] std::string describe() const;

private:
    static constexpr std::uint32_t time_chain = 0;
    static constexpr std::uint32_t until_idle = std::numeric_limits<std::uint32_t>::max();

    void draw_faults(fault_set allowed);
    void draw_points(unsigned count, std::uint32_t expected);
    [[nodiscard]] bool is_point() const noexcept;
    [[nodiscard]] std::uint32_t pick_at_random(std::span<const std::uint32_t> chains);
    [[nodiscard]] std::uint32_t pick_by_priority(std::span<const std::uint32_t> chains);
    [[nodiscard]] std::uint32_t pick_undelayed(std::span<const std::uint32_t> chains);
    [[nodiscard]] std::uint32_t first_undelayed(std::span<const std::uint32_t> chains) const;
    [[nodiscard]] std::uint64_t& priority_of(std::uint32_t chain);

    sys::random random_;
    sys::random fault_random_;
    sys::random data_random_;
    scheduler kind_;
    std::uint32_t choices_ = 0;         // made so far
    std::uint32_t fair_from_ = 0;       // choices; then at random, so that nothing starves for ever
    std::vector<std::uint32_t> points_; // choices at which something changes
    std::uint32_t jumps_ = 0;           // of time in a row
    unsigned time_permille_ = 0;        // at random: time
    bool time_is_low_ = true;           // by priority: below all others
    std::vector<std::uint64_t> priorities_;
    std::uint64_t low_priorities_; // given away below those that were drawn
    struct delay {
        std::uint32_t chain;
        std::uint32_t left; // choices
    };
    std::vector<delay> delays_;
    bool delays_behind_time_ = false;

    fault_set faults_;
    std::array<std::uint32_t, fault_kinds> rates_{}; // in 1/65536
    std::uint32_t fault_budget_ = 0;
    std::uint32_t faults_allowed_ = 0; // the budget at the beginning
};

} // namespace ekiden::inline EKIDEN_ABI::sim
