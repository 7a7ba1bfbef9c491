/// Functions and macros to write models: registration, assertions, choices and outcomes.
///
/// Part: check. Used by: the models, the litmus tests, the museum, programs through <ekiden/check/model.hpp>.
/// check/README.md shows a model in 20 lines.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::check {

inline constexpr unsigned unbounded = ~0U;

/// The options of a model: how it is explored, and which result is expected.
struct options {
    /// Whether to report loads that could read a value that is stored later: see load_buffering.cpp.
    bool load_buffering = true;
    /// Largest number of old values in an execution, to limit the search of a large model. Old values are
    /// loads that do not read the newest value, and stores that are not last in modification order.
    unsigned old_values = unbounded;
    std::string_view about = {}; ///< One line that describes the model.
    unsigned preemptions = 3;    ///< Largest number of switches away from a thread that could continue.
    unsigned spurious = 1;       ///< Number of futex waits that may return without a wake-up, per execution.
    /// Number of compare_exchange_weak calls that may fail spuriously, per execution.
    unsigned weak_failures = 1;
    /// Number of timed waits that may time out while another thread can continue, per execution.
    unsigned timeouts = 1;
    /// Largest number of operations in an execution. More operations count as a livelock.
    unsigned max_steps = 5000;
    unsigned processors = 2; ///< The result of sys::usable_concurrency(). With 1, some waits do not spin.
    bool leaks = true;       ///< Whether to report memory that is still allocated at the end.
    /// The name of the EKIDEN_MUTANT that is active while this model runs. The model must then fail.
    std::string_view mutant = {};
    bool fails = false;      ///< Whether the model contains a known bug and must fail.
    bool weak_memory = true; ///< If false, loads return the newest value (sequential consistency).
    bool reduce = true;      ///< If false, the search uses no sleep sets. This tests the reduction itself.
    std::vector<std::string_view> outcomes = {}; ///< Exactly these outcomes must occur. Used by litmus tests.
};

/// A registered model. `body` runs as thread 0. It starts the other threads (sys::thread) and joins them.
struct model {
    std::string_view name;
    std::string_view folder; // the folder of the file that registers it: litmus, models or museum
    options how;
    void (*body)();
    std::string_view root = {}; // the folder of the source code; file names are shown relative to this folder
};

/// Returns all registered models, sorted by folder and name.
[[nodiscard]] const std::vector<model>& models();

/// Registers a model during static initialization. EKIDEN_MODEL uses it.
struct registration {
    registration(std::string_view name, void (*body)(), options how, std::string_view root,
                 std::source_location where = std::source_location::current());
};

/// Fails the execution with the text `what` if `held` is false.
void that(bool held, std::string_view what, std::source_location where = std::source_location::current());

/// Fails the execution.
[[noreturn]] void fail(std::string_view what, std::source_location where = std::source_location::current());

/// Makes a choice for the model. The search explores each value in [0, count).
[[nodiscard]] unsigned choose(unsigned count);

/// Records an outcome of this execution. The set of all outcomes is compared with options::outcomes.
void outcome(std::initializer_list<std::int64_t> values);

/// Returns whether a model is running. Returns false, for example, while a test of the engine prepares a
/// model.
[[nodiscard]] bool running() noexcept;

} // namespace ekiden::check

/// The folder of the code that is checked. The build system defines this macro.
#if !defined(EKIDEN_MODEL_ROOT)
#define EKIDEN_MODEL_ROOT ""
#endif

/// EKIDEN_MODEL(name, .about = "…", .preemptions = 2) { body of thread 0 }
#define EKIDEN_MODEL(name, ...)                                                                              \
    static void name##_model();                                                                              \
    static const ::ekiden::check::registration name##_registered(                                            \
        #name, name##_model, ::ekiden::check::options{__VA_ARGS__}, EKIDEN_MODEL_ROOT);                      \
    static void name##_model()
