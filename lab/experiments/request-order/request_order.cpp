#include <lab/harness/registry.hpp>

#include <string>

namespace lab::request_order {
namespace {

/// The quick scale stops at 10,000 threads.
std::vector<variant> of_source() {
    std::vector<variant> all;
    for (int thousands = 5; thousands <= 30; thousands += 5)
        all.push_back({.name = std::to_string(thousands * 1000),
                       .title = std::to_string(thousands) + ",000 threads",
                       .full_only = thousands > 10,
                       .headline = thousands == 5 ? "5,000 requests" : ""});
    return all;
}

const bool added = add(experiment{
    .name = "request-order",
    .title = "Requests of many threads, processed in order",
    .about =
        "Each thread brings one request. They are processed one at a time in the order of arrival: request i "
        "adds i + 1 random numbers to a sum. Either each thread takes a lock and does its own work, or it "
        "leaves its request in a queue that one thread empties. Order, values and that nothing overlaps are "
        "checked; a method that breaks the order it promises fails. The q_ rows only take numbers. The quick "
        "scale stops at 10,000 threads.",
    .source_note = "Its figures on Ubuntu 22.04; its main thread alone was measured on Windows 10",
    .figures = {{.name = "second", .title = "time", .unit = "s"},
                {.name = "cpu", .title = "CPU time", .unit = "s"},
                {.name = "id diff count", .title = "id diff count", .unit = "count"},
                {.name = "max lock size", .title = "max lock size", .unit = "count"},
                {.name = "max queue size", .title = "max queue size", .unit = "count"}},
    .variants = of_source(),
    .source = {{"orderlock", "5000", "second", 0.271, "orderlock"},
               {"queue", "5000", "second", 0.303, "queue"},
               {"orderlock", "10000", "second", 0.611, "orderlock"},
               {"queue", "10000", "second", 0.741, "queue"},
               {"orderlock", "30000", "second", 3.941, "orderlock"},
               {"queue", "30000", "second", 3.999, "queue"},
               {"mainthread", "30000", "second", 2.125, "mainthread"}},
    .order = 36});

} // namespace
} // namespace lab::request_order
