/// The names for writing models: registration, assertions, choices, outcomes.
///
/// Part: check. Used by: the models, the litmus tests, the museum, and programs through
/// <ekiden/check/model.hpp>. See check/README.md for a model in 20 lines.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::check {

inline constexpr unsigned unbounded = ~0U;

/// How a model is explored, and the expected result.
struct options {
    bool load_buffering = true; ///< report loads that may read a value stored later: see load_buffering.cpp
    /// Largest number of old values: loads that do not read the newest value, and stores that are not last;
    /// for large models.
    unsigned old_values = unbounded;
    std::string_view about = {}; ///< one line that describes the model
    unsigned preemptions = 3;    ///< largest number of switches away from a thread that could continue
    unsigned spurious = 1;       ///< futex waits that may return without a wake-up, per execution
    unsigned weak_failures = 1;  ///< compare_exchange_weak calls that may fail without cause, per execution
    unsigned timeouts = 1; ///< timed waits that may time out while another thread can continue, per execution
    unsigned max_steps = 5000; ///< operations of one execution; more count as a livelock
    unsigned processors = 2;   ///< the result of sys::usable_concurrency(); with 1, some waits do not spin
    bool leaks = true;         ///< report memory that is still allocated at the end
    /// The EKIDEN_MUTANT that is active while this model runs; the model must fail.
    std::string_view mutant = {};
    bool fails = false;      ///< a known bug: the model must fail
    bool weak_memory = true; ///< false: loads return the newest value (sequential consistency)
    bool reduce = true;      ///< false: no sleep sets, to test the reduction itself
    std::vector<std::string_view> outcomes = {}; ///< for litmus tests: exactly these outcomes must occur
};

/// A registered model. `body` runs as thread 0. It starts the other threads (sys::thread) and joins them.
struct model {
    std::string_view name;
    std::string_view folder; // the folder of the file that registers it: litmus, models or museum
    options how;
    void (*body)();
    std::string_view root = {}; // the folder of the sources; file names are shown relative to it
};

/// Returns all registered models, in order of folder and name.
[[nodiscard]] const std::vector<model>& models();

/// Registers a model during static initialization. EKIDEN_MODEL uses it.
struct registration {
    registration(std::string_view name, void (*body)(), options how, std::string_view root,
                 std::source_location where = std::source_location::current());
};

/// Fails the execution with `what` unless `held` is true.
void that(bool held, std::string_view what, std::source_location where = std::source_location::current());

/// Fails the execution.
[[noreturn]] void fail(std::string_view what, std::source_location where = std::source_location::current());

/// Makes a choice for the model. Each value in [0, count) is explored.
[[nodiscard]] unsigned choose(unsigned count);

/// Records an outcome of this execution. The set of all outcomes is compared with options::outcomes.
void outcome(std::initializer_list<std::int64_t> values);

/// Returns whether a model is running. It is not, for example, while a test of the engine sets one up.
[[nodiscard]] bool running() noexcept;

} // namespace ekiden::check

/// The folder of the sources that are checked. The build defines it.
#if !defined(EKIDEN_MODEL_ROOT)
#define EKIDEN_MODEL_ROOT ""
#endif

/// EKIDEN_MODEL(name, .about = "…", .preemptions = 2) { body of thread 0 }
#define EKIDEN_MODEL(name, ...)                                                                              \
    static void name##_model();                                                                              \
    static const ::ekiden::check::registration name##_registered(                                            \
        #name, name##_model, ::ekiden::check::options{__VA_ARGS__}, EKIDEN_MODEL_ROOT);                      \
    static void name##_model()
