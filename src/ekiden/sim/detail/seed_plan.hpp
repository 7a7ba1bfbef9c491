/// The plan that a seed draws: a scheduler, the faults that are on, and their rates. The plan makes each
/// choice of a run.
///
/// Part: sim. Used by: the simulation, explore. Private. A simulation that replays a tape has no plan.
///
/// There are three schedulers, because each finds bugs that the other two miss. The first scheduler chooses
/// the next task uniformly at random. The second scheduler gives chains of tasks priorities that change at a
/// few points (Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs",
/// 2010). The third scheduler runs the oldest task first, but delays a few tasks (Emmi et al., "Delay-Bounded
/// Scheduling", 2011). This code differs from the two papers in two ways. The code treats virtual time as one
/// more chain, which the scheduler can choose. A delayed chain may stay delayed until no other chain can run.
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
    /// `expected` is the approximate number of schedule choices in a run.
    seed_plan(std::uint64_t seed, const options& chosen, std::uint32_t expected);

    [[nodiscard]] scheduler kind() const noexcept { return kind_; }
    [[nodiscard]] fault_set faults() const noexcept { return faults_; }

    /// Returns the index in `chains` of the chain that runs next. The oldest task's chain comes first in
    /// `chains`. Virtual time is chain 0. If time can move, chain 0 is the last element of `chains`. If a
    /// running step can be interrupted, the chain of that step comes before all others.
    [[nodiscard]] std::uint32_t pick(std::span<const std::uint32_t> chains);
    /// Returns the index of the lane that runs next, out of `ready` lanes.
    [[nodiscard]] std::uint32_t pick_lane(std::uint32_t ready);
    /// Returns 0 if no fault occurs. Faults of this kind must be on.
    [[nodiscard]] std::uint32_t pick_fault(fault kind, std::uint32_t range);
    [[nodiscard]] std::uint32_t pick_data(std::uint32_t range) { return data_random_.below(range); }

    /// Returns the drawn plan as text.
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
    std::uint32_t choices_ = 0;   // number of schedule choices so far
    std::uint32_t fair_from_ = 0; // From this choice on, the plan chooses at random. So no chain starves.
    std::vector<std::uint32_t> points_; // choice numbers at which a priority changes or a delay begins
    std::uint32_t jumps_ = 0;           // how many times in a row the plan has chosen time
    unsigned time_permille_ = 0;        // how often the scheduler `random` chooses time, per 1000 choices
    bool time_is_low_ = true;           // whether time has the lowest priority, in the scheduler `priorities`
    std::vector<std::uint64_t> priorities_;
    std::uint64_t low_priorities_; // the next low priority, which is below all drawn priorities
    struct delay {
        std::uint32_t chain;
        std::uint32_t left; // remaining number of choices
    };
    std::vector<delay> delays_;
    bool delays_behind_time_ = false;

    fault_set faults_;
    std::array<std::uint32_t, fault_kinds> rates_{}; // the probability of each fault, in units of 1/65536
    std::uint32_t fault_budget_ = 0;
    std::uint32_t faults_allowed_ = 0; // the initial budget
};

} // namespace ekiden::inline EKIDEN_ABI::sim
