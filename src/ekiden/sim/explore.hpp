/// Runs a test with many seeds and reports failures. Each seed selects a schedule. A report contains the
/// seed, the steps of the failing run, and the call that repeats the run.
///
/// Part: sim. Used by: tests of programs. The guide: docs/simulation.md.
#pragma once

#include <ekiden/sim/options.hpp>
#include <ekiden/sim/sim_context.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI::sim {

/// A test is a callable that receives the first context of a simulation.
///
/// The test creates the objects that it checks, calls run() of the context, and checks the results. The test
/// destroys its objects before it returns. The explorer calls the test once for each run, in a separate
/// thread. If two runs make the same choices, the test must do the same in both runs. So the test must not
/// depend on static variables that an earlier run has changed, on real time, or on numbers derived from
/// addresses. An exception that the test throws is a failure.
template <class F>
concept simulated_test = std::invocable<F&, sim_context&>;

namespace detail {

/// A reference to a test.
class test_reference {
public:
    template <simulated_test F>
        requires(!std::same_as<std::remove_const_t<F>, test_reference>)
    explicit test_reference(F& test) noexcept
        : call_([](const test_reference& self, sim_context& context) {
              (*reinterpret_cast<F*>(self.test_))(context);
          }) {
        if constexpr (std::is_function_v<F>)
            test_ = reinterpret_cast<std::uintptr_t>(&test);
        else
            test_ = reinterpret_cast<std::uintptr_t>(std::addressof(test));
    }
    void operator()(sim_context& context) const { call_(*this, context); }

private:
    std::uintptr_t test_;
    void (*call_)(const test_reference& self, sim_context& context);
};

[[nodiscard]] report explore(const options& chosen, test_reference test);
[[nodiscard]] report explore_all(const options& chosen, unsigned bound, test_reference test);
[[nodiscard]] report replay(std::string_view tape, const options& chosen, test_reference test);

} // namespace detail

/// Runs the test with one seed after another until a run fails. Then shrinks and prints the failing run. Seed
/// 0 selects the dull run, in which no fault occurs and the oldest task always runs first. The largest seed
/// is 2^64 - 1.
///
/// Returns the findings. Throws std::invalid_argument for an option that is out of range, std::system_error
/// if the system refuses to start a thread, and std::bad_alloc. If the system refuses a thread or memory
/// after a run has failed, explore() stops shrinking and returns the failure.
template <simulated_test F>
[[nodiscard]] report explore(const options& chosen, F&& test) {
    return detail::explore(chosen, detail::test_reference(test));
}
template <simulated_test F>
[[nodiscard]] report explore(std::uint64_t seeds, F&& test) {
    options chosen;
    chosen.seeds = seeds;
    return detail::explore(chosen, detail::test_reference(test));
}

/// Runs all schedules that differ from the dull run in at most `bound` choices, without faults.
/// options::seeds limits the number of runs. report::is_complete is true if all these schedules were run.
/// Throws the same exceptions as explore().
template <simulated_test F>
[[nodiscard]] report explore_all(unsigned bound, F&& test, const options& chosen) {
    return detail::explore_all(chosen, bound, detail::test_reference(test));
}
/// Like the function above, but runs at most 100,000 schedules.
template <simulated_test F>
[[nodiscard]] report explore_all(unsigned bound, F&& test) {
    options chosen;
    chosen.seeds = 100'000;
    return detail::explore_all(chosen, bound, detail::test_reference(test));
}

/// Repeats the run that `tape` describes. `tape` is the text in report::replay. Throws std::invalid_argument
/// if `tape` is not the text of a tape. Also throws the same exceptions as explore().
template <simulated_test F>
[[nodiscard]] report replay(std::string_view tape, F&& test, const options& chosen = {}) {
    return detail::replay(tape, chosen, detail::test_reference(test));
}

} // namespace ekiden::inline EKIDEN_ABI::sim
