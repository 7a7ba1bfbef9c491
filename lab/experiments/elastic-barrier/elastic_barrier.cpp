#include <lab/harness/registry.hpp>

namespace lab::elastic_barrier {
namespace {

const bool added =
    add(experiment{.name = "elastic-barrier",
                   .title = "Elastic barriers",
                   .about = "200,000 passes of an elastic barrier, each an entry and an exit; the quick "
                            "scale does a tenth. The source "
                            "describes the barrier, made of two locks, and did not measure it.",
                   .figures = {{.name = "elapsed_ms", .title = "elapsed", .unit = "ms"},
                               {.name = "cpu_ms", .title = "CPU time", .unit = "ms"}},
                   .variants = {{.name = "20 threads", .title = "20 threads", .headline = "20 come and go"},
                                {.name = "200 threads", .title = "200 threads"}},
                   .order = 33});

} // namespace
} // namespace lab::elastic_barrier
