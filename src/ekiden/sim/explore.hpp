/// Runs a test with many seeds, each of which is a schedule, and says what has gone wrong: the seed, what
/// happened step by step, and how to see it again.
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

/// A test: a function of the first context. It makes what it tests, has run() of the context run it, and
/// looks at the results; its own objects end with it. It is called once for each run, by a thread of its own,
/// and must do the same each time: no static state that one run leaves to the next, no real time, no numbers
/// from addresses. An exception that leaves it is a failure.
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

/// Runs seeds until one fails, shrinks the failing run, and prints it. Seed 0 is the dull one, in which
/// nothing is out of the ordinary. Seeds beyond 2^64 - 1 do not exist and are not run. Returns what it has
/// found. Throws std::invalid_argument for an option that is out of range, std::system_error if the system
/// gives no thread, and std::bad_alloc. A failure that has been found is returned all the same.
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

/// Runs all schedules that differ from the dull one in at most `bound` choices, without faults; at most
/// options::seeds of them. report::is_complete says whether those were all. Throws what explore() throws.
template <simulated_test F>
[[nodiscard]] report explore_all(unsigned bound, F&& test, const options& chosen) {
    return detail::explore_all(chosen, bound, detail::test_reference(test));
}
/// At most 100,000 of them.
template <simulated_test F>
[[nodiscard]] report explore_all(unsigned bound, F&& test) {
    options chosen;
    chosen.seeds = 100'000;
    return detail::explore_all(chosen, bound, detail::test_reference(test));
}

/// Repeats the run that `tape` names: the text report::replay. Throws std::invalid_argument if `tape` is not
/// such a text. Otherwise throws what explore() throws.
template <simulated_test F>
[[nodiscard]] report replay(std::string_view tape, F&& test, const options& chosen = {}) {
    return detail::replay(tape, chosen, detail::test_reference(test));
}

} // namespace ekiden::inline EKIDEN_ABI::sim
