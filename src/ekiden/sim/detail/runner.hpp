/// The thread that runs simulations for explore. If a run blocks this thread, the runner detaches the blocked
/// thread and starts a new thread for the next run.
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

/// The outcome of one run.
struct outcome {
    finding found;
    tape made;
    timeline steps;
    std::uint32_t step_count = 0;
    std::uint32_t schedule_choices = 0;
    scheduler by = scheduler::dull;
    std::string plan; ///< The plan as text. The text is empty if the run has no failure or replays a tape.
    std::map<std::string, std::uint64_t> marks;

    [[nodiscard]] bool is_clean() const noexcept { return found.kind == verdict::none; }
};

/// A request to run seeds, or to replay a tape.
struct run_request {
    const tape* played = nullptr; ///< The tape to replay. A null pointer means: run the seeds below.
    std::uint64_t seed = 0;
    /// The last seed to run. The first seed is `seed`. The first failure ends the request.
    std::uint64_t last = 0;
    std::uint32_t expected = 100; ///< The expected number of schedule choices in a run.
};

/// The answer to a request. `last` is the outcome of the run that failed. If no run failed, `last` is the
/// outcome of the last run.
struct run_answer {
    outcome last;
    std::uint64_t seed = 0; ///< The seed of `last`.
    std::uint64_t runs = 0;
    std::uint64_t steps = 0;
    std::map<std::string, std::uint64_t> marks; ///< The number of runs that have reached each mark.
};

/// Runs simulations in a thread of its own. One thread at a time may use a runner.
class runner {
public:
    runner(detail::test_reference test, const options& chosen);
    ~runner();
    runner(const runner&) = delete;
    runner& operator=(const runner&) = delete;

    /// Runs the request and returns the answer. Throws std::system_error if the system refuses to start a
    /// thread.
    [[nodiscard]] run_answer run(const run_request& request);

private:
    struct place;

    void start();
    void watch(place& at);

    const detail::test_reference test_;
    const options options_;
    std::shared_ptr<place> place_; // null if there is no thread
    sys::thread thread_;
};

} // namespace ekiden::inline EKIDEN_ABI::sim
