/// The thread that runs simulations for explore. A run that blocks its thread keeps it for ever; the next one
/// gets another.
///
/// Part: sim. Used by: explore, shrink. Private.
#pragma once

#include <ekiden/sim/detail/simulation.hpp>
#include <ekiden/sim/explore.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/parker.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace ekiden::inline EKIDEN_ABI::sim {

/// What one run has come to.
struct outcome {
    finding found;
    tape made;
    timeline steps;
    std::uint32_t step_count = 0;
    std::uint32_t schedule_choices = 0;
    scheduler by = scheduler::dull;
    std::string plan; ///< in words; empty if it has played
    std::map<std::string, std::uint64_t> marks;

    [[nodiscard]] bool is_clean() const noexcept { return found.kind == verdict::none; }
};

/// What is to be run.
struct run_request {
    const tape* played = nullptr; ///< or:
    std::uint64_t seed = 0;
    std::uint64_t last = 0;       ///< seeds from `seed` to this one, until one fails
    std::uint32_t expected = 100; ///< choices of the schedule
};

/// What a request has come to: of the run that has failed, or of the last one.
struct run_answer {
    outcome last;
    std::uint64_t seed = 0; ///< of that one
    std::uint64_t runs = 0;
    std::uint64_t steps = 0;
    std::map<std::string, std::uint64_t> marks; ///< in how many runs
};

/// One thread at a time.
class runner {
public:
    runner(detail::test_reference test, const options& chosen);
    ~runner();
    runner(const runner&) = delete;
    runner& operator=(const runner&) = delete;

    /// Throws std::system_error if a thread is needed and the system gives none.
    [[nodiscard]] run_answer run(const run_request& request);

private:
    struct place;

    void start();
    void watch(place& at);

    const detail::test_reference test_;
    const options options_;
    std::shared_ptr<place> place_; // null: there is no thread
    sys::thread thread_;
};

} // namespace ekiden::inline EKIDEN_ABI::sim
