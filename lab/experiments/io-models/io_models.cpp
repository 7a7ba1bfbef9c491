#include <lab/harness/registry.hpp>

namespace lab::io_models {
namespace {

// The rows for a number of threads. hybrid needs 4 threads, half-sync at least two.
std::vector<std::string> models(int threads, bool chained) {
    std::vector<std::string> some{"loops-alone"};
    if (chained) some.insert(some.end(), {"go", "tokio"});
    for (const std::string library : {"ekiden", "asio", "boost-asio"}) {
        some.insert(some.end(), {library, library + "-per-thread"});
        if (threads > 1) some.push_back(library + "-half-sync");
        if (threads == 4) some.push_back(library + "-hybrid");
    }
    return some;
}

// The source's two lengths, with 1 to 4 threads. The tour and a quick run use what 2 cores can show.
std::vector<variant> settings() {
    std::vector<variant> all;
    const auto add_one = [&all](const char* way, const char* turns, int threads, bool quick) {
        const std::string count = std::to_string(threads) + (threads > 1 ? " threads" : " thread");
        const std::string name = std::string(way) + ", " + turns + " turns, " + count;
        all.push_back({.name = name,
                       .title = name,
                       .full_only = !quick,
                       .only = models(threads, std::string(way) == "chained")});
    };
    for (const char* turns : {"1,000", "5,000"})
        for (int threads = 1; threads <= 4; ++threads) add_one("beforehand", turns, threads, threads <= 2);
    for (const char* way : {"produced", "chained"})
        for (const char* turns : {"1,000", "5,000"})
            for (int threads = 1; threads <= 4; ++threads)
                add_one(way, turns, threads, threads <= 2 && turns[0] == '1');
    all[1].headline = "1,000 turns";
    return all;
}

const bool added = add(experiment{
    .name = "io-models",
    .title = "Contexts and threads",
    .about = "Handlers that each turn an empty loop 1,000 or 5,000 times (about a cycle a turn), spread over "
             "threads in four "
             "ways: one context shared by all threads; a context per thread; two contexts with two threads "
             "each (hybrid); one "
             "context, of one thread, that hands the work to a pool of the others (half-sync/half-async). "
             "Beforehand: 200,000 "
             "handlers (a full run: 1,000,000) are posted first, and the figure is the time that it then "
             "takes to run them, "
             "per handler. Produced: one more thread posts them meanwhile. Chained: 64 chains of handlers "
             "that each post their "
             "next.",
    .source_note = "Source: Networking TS articles, 1,000,000 handlers on 4 processors of a virtual machine; "
                   "it shows its "
                   "times as plots only: with 1,000 turns a shared context became slower from 3 threads on, "
                   "with 5,000 it "
                   "kept up with a context per thread.",
    .figures = {{.name = "ns_per_handler", .title = "time per handler", .unit = "ns"},
                {.name = "cpu_ns", .title = "CPU time", .unit = "ns"},
                {.name = "post_ns", .title = "post", .unit = "ns"}},
    .variants = settings(),
    .order = 25});

} // namespace
} // namespace lab::io_models
