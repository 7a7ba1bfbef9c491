/// What a model is written with: registration, assertions, choices, observed outcomes.
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

/// How a model is explored, and what is expected of it.
struct options {
    bool load_buffering = true; ///< report loads that may read a value stored later: see load_buffering.cpp
    unsigned old_values = unbounded; ///< loads of another than the newest value and stores to another place
                                     ///< than the last, at most this many; for large models
    std::string_view about = {};     ///< one line for people
    unsigned preemptions = 3;        ///< switches away from a thread that could go on, at most this many
    unsigned spurious = 1;           ///< futex waits that return without a wake-up, per execution
    unsigned weak_failures = 1;      ///< compare_exchange_weak that fail without cause, per execution
    unsigned timeouts = 1;           ///< timed waits that run out while others could go on, per execution
    unsigned max_steps = 5000;       ///< operations of one execution; more are reported as a livelock
    unsigned processors = 2;         ///< what sys::usable_concurrency() says: with 1, some waits do not spin
    bool leaks = true;               ///< report memory that is still allocated at the end
    std::string_view mutant = {};    ///< the EKIDEN_MUTANT that is on while this model runs: it must fail
    bool fails = false;              ///< a known bug: the model must fail
    bool weak_memory = true;         ///< false: loads return the newest value (sequential consistency)
    bool reduce = true;              ///< false: no sleep sets (to test the reduction itself)
    std::vector<std::string_view> outcomes = {}; ///< litmus: exactly the outcomes that must be seen
};

/// One registered model. `body` runs as thread 0; it starts the others (sys::thread) and joins them.
struct model {
    std::string_view name;
    std::string_view folder; // the last folder of the file that registers it: litmus, models, museum
    options how;
    void (*body)();
    std::string_view root = {}; // of the sources: file names are shown from there on
};

/// All registered models, in order of folder and name.
[[nodiscard]] const std::vector<model>& models();

/// Registers a model at static initialisation. Used through EKIDEN_MODEL.
struct registration {
    registration(std::string_view name, void (*body)(), options how, std::string_view root,
                 std::source_location where = std::source_location::current());
};

/// Fails the execution with `what` unless `held`.
void that(bool held, std::string_view what, std::source_location where = std::source_location::current());

/// Fails the execution.
[[noreturn]] void fail(std::string_view what, std::source_location where = std::source_location::current());

/// A choice of the model's own: each value in [0, count) is explored.
[[nodiscard]] unsigned choose(unsigned count);

/// Records what this execution led to; the set of all of them is compared with options::outcomes.
void outcome(std::initializer_list<std::int64_t> values);

/// True while a model runs (and not, for example, while a test of the engine sets one up).
[[nodiscard]] bool running() noexcept;

} // namespace ekiden::check

/// The folder of the sources under check, set by what builds them.
#if !defined(EKIDEN_MODEL_ROOT)
#define EKIDEN_MODEL_ROOT ""
#endif

/// EKIDEN_MODEL(name, .about = "…", .preemptions = 2) { body of thread 0 }
#define EKIDEN_MODEL(name, ...)                                                                              \
    static void name##_model();                                                                              \
    static const ::ekiden::check::registration name##_registered(                                            \
        #name, name##_model, ::ekiden::check::options{__VA_ARGS__}, EKIDEN_MODEL_ROOT);                      \
    static void name##_model()
