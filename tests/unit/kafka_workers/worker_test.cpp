#include <ekiden/async.hpp>
#include <ekiden/kafka.hpp>
#include <ekiden/observe.hpp>
#include <ekiden/pool.hpp>
#include <tests/unit/kafka/mock_cluster.hpp>
#include <tests/unit/kafka_workers/running_worker.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

namespace {

namespace kafka = ekiden::kafka;
using namespace std::chrono_literals;
using ekiden_test::api;
using ekiden_test::eventually;
using ekiden_test::mock_cluster;
using ekiden_test::running_worker;
using ekiden_test::seen_records;

kafka::worker_options at_least_once() {
    kafka::worker_options chosen{.group = "bank", .topic = "in", .name = "one"};
    chosen.mode = kafka::delivery::at_least_once;
    chosen.session = 6'000ms;
    chosen.revoke_limit = 5'000ms;
    return chosen;
}

void fill(mock_cluster& brokers, int keys, int count, int from = 0) {
    const kafka::poster to(brokers.where(), {.topic = "in", .policy = ekiden::when_full::block});
    for (int i = from; i < from + count; ++i)
        for (int k = 0; k < keys; ++k) REQUIRE(to.post("key " + std::to_string(k), std::to_string(i)));
    REQUIRE(to.flush(30s));
}

} // namespace

TEST_CASE(
    "kafka::worker: each record is handled once, in the order of its key, and outputs and offsets are sent") {
    mock_cluster brokers;
    brokers.create("in", 3);
    brokers.create("out", 3);
    fill(brokers, 20, 50);
    ekiden::thread_pool pool(4);
    seen_records seen;
    {
        running_worker worker(brokers.where(), pool, at_least_once(),
                              [&](const kafka::request& r, kafka::reply& out) {
                                  seen.add(r);
                                  out.post("out", std::string(r.key), std::string(r.value), r.with);
                              });
        CHECK(eventually([&] { return seen.count() == 1'000; }));
        CHECK(eventually([&] {
            const auto now = worker.metrics();
            return std::ranges::all_of(now.partitions,
                                       [](const auto& p) { return p.lag == 0 && p.held == 0; })
                   && now.partitions.size() == 3;
        }));
        CHECK(worker->close(30s));
        const auto now = worker.metrics();
        CHECK(now.done == 1'000);
        CHECK(now.commits > 0);
        CHECK(now.repeated == 0);
    }
    CHECK(seen.violations() == 0);
    CHECK(seen.repeats() == 0);
    CHECK(brokers.read("out", 3).size() == 1'000);

    // The next worker of the group finds nothing to do, and handles only what is new.
    fill(brokers, 20, 1, 50);
    running_worker again(brokers.where(), pool, at_least_once(),
                         [&](const kafka::request& r, kafka::reply&) { seen.add(r); });
    CHECK(eventually([&] { return seen.count() == 1'020; }));
    CHECK(again->close(30s));
    CHECK(seen.repeats() == 0);
    CHECK(seen.violations() == 0);
}

TEST_CASE("kafka::worker: a coroutine keeps its lane until it has ended") {
    mock_cluster brokers;
    brokers.create("in", 2);
    fill(brokers, 5, 20);
    ekiden::thread_pool pool(2);
    seen_records seen;
    std::atomic<int> overlaps{0};
    std::map<std::string, std::atomic<int>, std::less<>> inside;
    for (int k = 0; k < 5; ++k) inside["key " + std::to_string(k)] = 0;
    running_worker worker(brokers.where(), pool, at_least_once(),
                          [&](const kafka::request& r, kafka::reply&) -> ekiden::coroutine<> {
                              auto& here = inside.find(r.key)->second;
                              if (++here != 1) ++overlaps;
                              co_await ekiden::sleep_for(1ms);
                              seen.add(r);
                              --here;
                          });
    CHECK(eventually([&] { return seen.count() == 100; }));
    CHECK(worker->close(30s));
    CHECK(overlaps == 0);
    CHECK(seen.violations() == 0);
    CHECK(seen.repeats() == 0);
    CHECK(worker.metrics().done == 100);
}

TEST_CASE(
    "kafka::worker: a trace follows a record from its receipt to its commit, and a page shows the metrics") {
    ekiden::kafka::embedded_brokers brokers;
    brokers.create_topic("in", 1);
    CHECK_THROWS_AS(brokers.create_topic("in", 1), kafka::error);
    CHECK_THROWS_AS(ekiden::kafka::embedded_brokers(0), std::invalid_argument);
    ekiden::thread_pool pool(1);
    {
        const kafka::poster to(brokers.where(), {.topic = "in"});
        for (int i = 0; i < 8; ++i) REQUIRE(to.post("a", std::to_string(i)));
        REQUIRE(to.flush(30s));
    }
    ekiden::trace::start();
    running_worker worker(brokers.where(), pool, at_least_once(),
                          [](const kafka::request&, kafka::reply&) {});
    CHECK(eventually([&] { return worker.metrics().commits > 0 && worker.metrics().done == 8; }));
    CHECK(worker->close(30s));
    ekiden::trace::stop();
    std::map<std::string, std::set<std::uint64_t>> marks; // the values of each mark
    for (const auto& track : ekiden::trace::take().tracks)
        for (const auto& event : track.events)
            if (event.kind == ekiden::trace::kind::mark) marks[std::string(event.name)].insert(event.id);
    const std::set<std::uint64_t> all{0, 1, 2, 3, 4, 5, 6, 7};
    CHECK(marks["kafka: received"] == all);
    CHECK(marks["kafka: done"] == all);
    CHECK(marks["kafka: committed below"].contains(8));

    ekiden::prometheus_page page;
    ekiden::records::add_metrics(page, worker.metrics(), "one");
    CHECK(page.text().find("ekiden_worker_records_done_total{worker=\"one\"} 8") != std::string::npos);
}
