#include <lab/harness/registry.hpp>

namespace lab::strand {
namespace {

const bool added = add(experiment{
    .name = "strand",
    .title = "Handlers through a strand",
    .about = "One thread posts 1,000,000 handlers (a full run: 10,000,000) to a context and then runs the "
             "context until it "
             "has no more; the figure is posting and running together, per handler, with the memory of a "
             "first, untimed time "
             "at hand. Each handler checks that it comes in its turn. With no strand; posted to a strand; "
             "posted to the "
             "context with the strand bound to the handler; and in the old style, where the context runs a "
             "wrapper that "
             "dispatches the handler into the strand. Contexts are told that one thread runs them.",
    .source_note = "Source: Networking TS articles, 10,000,000 handlers; it shows its times as a plot only.",
    .figures = {{.name = "ns_per_handler", .title = "post and run", .unit = "ns"},
                {.name = "post_ns", .title = "post", .unit = "ns"},
                {.name = "run_ns", .title = "run", .unit = "ns"},
                {.name = "cpu_ns", .title = "CPU time", .unit = "ns"}},
    .variants = {{.name = "none", .title = "no strand: post(context, h)"},
                 {.name = "strand", .title = "post(strand, h)", .headline = "a strand's task"},
                 {.name = "bind", .title = "post(context, bind_executor(strand, h))"},
                 {.name = "wrap", .title = "post(context, [] { dispatch(strand, h); })"}},
    .order = 22});

} // namespace
} // namespace lab::strand
