#include <lab/experiments/kafka/kafka.hpp>
#include <lab/harness/registry.hpp>

#include <cstdio>
#include <string>

namespace lab::kafka {
namespace {

// Written in Java: peers/parallel_consumer/Peer.java. A process of this program runs all repetitions in one
// virtual machine, which the first repetition warms up.
void run_parallel_consumer(cell& c) {
    setting s = parse(c);
    // With all records, this cell took more than 30 s, the limit of a quick cell.
    if (s.zipf && s.work.count() == 0) s.records /= 10;
    const std::string brokers = shared_broker(c);
    const std::string topic = filled_topic(c, brokers, s);
    const unsigned repetitions = c.asked().repetitions;
    const std::string classes = LAB_PARALLEL_CONSUMER;
    const std::string line = "java -cp '" + classes + ":" + classes + "/libs/*' Peer " + brokers + " " + topic
                             + " " + fresh_group() + " " + std::to_string(s.records) + " "
                             + std::to_string(keys) + " " + std::to_string(s.work.count() * 1000) + " "
                             + std::to_string(in_flight) + " " + std::to_string(repetitions) + " 2>&1";
    std::FILE* output = ::popen(line.c_str(), "r");
    if (output == nullptr) c.fail("cannot run " + line);
    char buffer[512] = {};
    std::string last;
    unsigned count = 0;
    while (std::fgets(buffer, sizeof buffer, output) != nullptr) {
        usage used;
        unsigned long disordered = 0;
        last = buffer;
        if (std::sscanf(buffer, "%lf %lf %lu", &used.wall_s, &used.user_s, &disordered) != 3) continue;
        if (disordered > 0) c.fail(std::to_string(disordered) + " records were out of order");
        if (count++ > 0) c.report(figures_of(s, used));
    }
    if (::pclose(output) != 0 || count != repetitions + 1) c.fail("Parallel Consumer failed: " + last);
}

const bool added = add(implementation{.experiment = "kafka",
                                      .name = "parallel-consumer",
                                      .title = "Parallel Consumer",
                                      .note = "Java, the order of keys",
                                      .run = &run_parallel_consumer,
                                      .pinnable = false,
                                      .order = 40});

} // namespace
} // namespace lab::kafka
