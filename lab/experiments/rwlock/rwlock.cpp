#include <lab/experiments/rwlock/rwlock.hpp>
#include <lab/harness/registry.hpp>

namespace lab::rwlock {
namespace {

std::vector<variant> all_variants() {
    std::vector<variant> all;
    for (const char* kind : {" waiting", " empty"}) {
        for (const setting& s : settings_of_source) {
            const std::string name = std::string(s.name) + kind;
            all.push_back({.name = name,
                           .title = name + ": " + std::to_string(s.readers) + " readers, "
                                    + std::to_string(s.writers) + " writers",
                           .headline = name == "10:1 waiting" ? "10 reads a write" : ""});
        }
    }
    all.push_back({.name = "free, reading", .title = "one thread, 1,000,000 empty sections, reading"});
    all.push_back({.name = "free, writing", .title = "one thread, 1,000,000 empty sections, writing"});
    return all;
}

/// The source's elapsed seconds for each setting, in milliseconds.
std::vector<published> of_source() {
    struct line {
        const char* implementation;
        const char* label;
        double seconds[5];
    };
    static constexpr line lines[] = {
        {"pthread-rwlock", "1 pthread_rwlock", {13.34, 14.01, 14.27, 7.00, 6.50}},
        {"condition-rw", "2 conditions", {13.29, 14.08, 14.38, 6.99, 6.53}},
        {"condition-rw-holding", "2' lock-holding", {8.68, 9.10, 9.71, 6.66, 6.35}},
        {"source-3", "3 AST", {15.85, 15.82, 15.78, 7.25, 6.46}},
        {"source-3-holding", "3' lock-holding", {9.31, 9.44, 9.69, 6.74, 6.42}},
        {"source-3b", "3b hand-over", {13.62, 13.48, 13.70, 7.19, 6.52}},
        {"source-3b-holding", "3b' lock-holding", {9.90, 9.65, 9.82, 6.89, 6.48}}};
    std::vector<published> all;
    for (const line& l : lines) {
        for (std::size_t i = 0; i < std::size(settings_of_source); ++i)
            all.push_back({l.implementation, std::string(settings_of_source[i].name) + " empty", "elapsed_ms",
                           l.seconds[i] * 1e3, l.label});
    }
    return all;
}

const bool added = add(experiment{
    .name = "rwlock",
    .title = "Read-write locks, the source's settings",
    .about =
        "Readers and writers take the lock over and over, in five proportions. \"Empty\" sections are the "
        "source's; "
        "on a few fast processors a thread then often finishes its work before the next one meets it. With "
        "\"waiting\" every thread gives its processor away inside its section, so that others do wait. The "
        "quick "
        "scale does a tenth of the source's repetitions. Rows 1 to 3b' are the source's constructions, 3 to "
        "3b' "
        "on our state_lock.",
    .source_note = "Ohki and Kuno; FreeBSD 6.2, 4 cores at 2.66 GHz, full repetitions",
    .figures = {{.name = "elapsed_ms", .title = "elapsed", .unit = "ms"},
                {.name = "user_ms", .title = "user", .unit = "ms"},
                {.name = "system_ms", .title = "system", .unit = "ms"}},
    .variants = all_variants(),
    .source = of_source(),
    .order = 31});

} // namespace
} // namespace lab::rwlock
