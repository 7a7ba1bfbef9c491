#include <lab/experiments/kafka/kafka.hpp>
#include <lab/harness/registry.hpp>

#include <string>
#include <vector>

namespace lab::kafka {
namespace {

std::vector<variant> settings() {
    std::vector<variant> all;
    for (const char* work : {"0 ms", "1 ms", "10 ms"})
        for (const char* distribution : {"uniform", "Zipf"}) {
            const std::string name = std::string(work) + ", " + distribution;
            all.push_back({.name = name, .title = "handlers of " + name + " keys"});
            // One thread handles one record at a time, so it only shows the limit of handlers that do
            // nothing.
            all.back().only = {"ekiden", "consumer-per-partition", "consumer-and-pool", "parallel-consumer"};
            if (work[0] == '0') all.back().only.push_back("plain-consumer");
        }
    all[2].headline = "Kafka, 1 ms";
    return all;
}

const bool added = add(experiment{
    .name = "kafka",
    .title = "Records of Kafka",
    .about =
        "A consumer reads a topic of 6 partitions and 1,000 keys from one broker on the same machine. Each "
        "record "
        "is handled by a function that sleeps for 0, 1 or 10 ms. Records with the same key keep their order. "
        "Up to "
        "16 functions run at once, so 1 ms allows 16,000 records per second. With Zipf keys, one record in "
        "seven "
        "has the same key. A cell ends after a number of records, so records of other keys can overtake the "
        "most "
        "frequent key. The CPU time is that of the consumer's process. The broker and the consumer share the "
        "processors.",
    .figures = {{.name = "us_per_record", .title = "time per record", .unit = "us"},
                {.name = "cpu_us", .title = "CPU time per record", .unit = "us"},
                {.name = "in_flight_share",
                 .title = "share of the bound by 16 functions",
                 .unit = "share",
                 .lower_is_better = false}},
    .variants = settings(),
    .order = 95});

} // namespace
} // namespace lab::kafka
