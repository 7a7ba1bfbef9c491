// Compiled with EKIDEN_UNTRACED, for the library that is compiled with it: see ../../CMakeLists.txt.
#include <lab/experiments/tracing/ekiden_programs.hpp>
#include <lab/harness/registry.hpp>

#include <ekiden/observe/trace.hpp>

namespace lab::tracing {
namespace {

class untraced : public whole_programs {
public:
    using whole_programs::whole_programs;

    static void begin() { ekiden::trace::start(); } // has no effect in this library
    static void end() { ekiden::trace::stop(); }
    static void verify(const cell& c) {
        if (!ekiden::trace::take().tracks.empty()) c.fail("a library without a trace has one");
    }
};

const bool added = add(implementation{.experiment = "tracing",
                                      .name = "ekiden-without",
                                      .title = "ekiden without a trace",
                                      .note = "the library compiled without it",
                                      .run = &run<untraced>,
                                      .order = 2,
                                      .ranked = false});

} // namespace
} // namespace lab::tracing
