#include <lab/harness/registry.hpp>

#include <array>

namespace lab::barrier {
namespace {

const std::array<const char*, 3> names{"20 x 10,000", "200 x 1,000", "2,000 x 100"};

/// The source's elapsed seconds, as milliseconds.
std::vector<published> of_source() {
    struct line {
        const char* implementation;
        const char* label;
        double seconds[3];
    };
    static constexpr line lines[] = {{"pthread-barrier", "1 pthread_barrier", {1.459, 1.294, 1.743}},
                                     {"condition-barrier", "2 condition variable", {2.193, 2.426, 5.275}},
                                     {"source-3", "3 AST", {3.366, 4.122, 6.600}},
                                     {"source-3b", "3b hand-over", {4.466, 4.589, 5.433}},
                                     {"source-4", "4 enter-exit pair", {4.625, 4.210, 4.517}}};
    std::vector<published> all;
    for (const line& l : lines) {
        for (std::size_t i = 0; i < names.size(); ++i)
            all.push_back({l.implementation, names[i], "elapsed_ms", l.seconds[i] * 1e3, l.label});
    }
    return all;
}

const std::vector<std::string> beside_busy{"ekiden", "ekiden-parks", "condition-barrier"};

const bool added = add(experiment{
    .name = "barrier",
    .title = "Barriers",
    .about = "200,000 passes of a barrier by 20, 200 and 2,000 threads that do nothing else. "
             "The quick scale does a tenth "
             "of the rounds. Ours and std::barrier yield before they sleep; "
             "compare pthread_barrier with the row of ours that does not. Beside busy processes, one on "
             "each processor, ours soon stops yielding.",
    .source_note = "Ohki and Kuno; FreeBSD 6.2, 4 cores at 2.66 GHz, full repetitions",
    .figures = {{.name = "elapsed_ms", .title = "elapsed", .unit = "ms"},
                {.name = "cpu_ms", .title = "CPU time", .unit = "ms"}},
    .variants =
        {{.name = names[0], .title = "20 threads", .headline = "20 threads meet"},
         {.name = names[1], .title = "200 threads"},
         {.name = names[2], .title = "2,000 threads"},
         {.name = "4 x 50,000, busy", .title = "4 threads, beside busy processes", .only = beside_busy},
         {.name = "20 x 10,000, busy", .title = "20 threads, beside busy processes", .only = beside_busy}},
    .source = of_source(),
    .order = 32});

} // namespace
} // namespace lab::barrier
