/// Prints the page of metrics of a worker with two partitions: worker_page NAME DONE
#include <ekiden/records.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    namespace records = ekiden::records;
    records::worker_metrics metrics;
    metrics.done = std::strtoull(argv[2], nullptr, 10);
    metrics.rebalances = 2;
    metrics.in_lanes.counts[ekiden::histogram_snapshot::bucket_of(1'000'000)] = metrics.done;
    metrics.partitions.resize(2);
    metrics.partitions[0].topic = metrics.partitions[1].topic = "orders";
    metrics.partitions[0].lag = 0;
    records::partition_metrics& slow = metrics.partitions[1];
    slow.partition = 1;
    slow.paused = records::pause_reason::window;
    slow.lag = 20'000;
    slow.oldest_offset = 17;
    slow.oldest_key = "odd\r\"key\"\x1b[2J";
    slow.oldest_age = std::chrono::milliseconds(2500);
    ekiden::prometheus_page page;
    records::add_metrics(page, metrics, argv[1]);
    std::cout << page.text();
}
