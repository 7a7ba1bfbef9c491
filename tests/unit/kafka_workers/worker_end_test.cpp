// How a worker ends: early, twice, without brokers, while a call runs.
#include <ekiden/kafka.hpp>
#include <ekiden/pool.hpp>
#include <tests/unit/child_process.hpp>
#include <tests/unit/kafka/mock_cluster.hpp>
#include <tests/unit/kafka_workers/running_worker.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

namespace {

namespace kafka = ekiden::kafka;
using namespace std::chrono_literals;
using ekiden_test::api;
using ekiden_test::eventually;
using ekiden_test::mock_cluster;
using ekiden_test::running_worker;

kafka::worker_options ending_worker(kafka::delivery mode) {
    kafka::worker_options chosen{.group = "bank", .topic = "in", .name = "one"};
    chosen.mode = mode;
    chosen.session = 6'000ms;
    chosen.revoke_limit = 1'000ms;
    chosen.transaction_limit = 1'000ms;
    chosen.commit_every = 20ms;
    return chosen;
}

const auto nothing = [](const kafka::request&, kafka::reply&) {};

} // namespace

TEST_CASE("kafka::worker: without brokers a worker stops, whatever it is waiting for") {
    ekiden::thread_pool pool(1);
    for (const kafka::delivery mode : {kafka::delivery::exactly_once, kafka::delivery::at_least_once}) {
        for (const auto delay : {0ms, 1'050ms}) {
            running_worker worker({.brokers = "127.0.0.1:1"}, pool, ending_worker(mode), nothing);
            std::this_thread::sleep_for(delay);
            worker.stop();
            CHECK(eventually([&] { return worker.has_ended(); }, 20s));
            CHECK(worker.failure() == "");
        }
    }
}

TEST_CASE("kafka::worker: a run() whose stop was requested before ends at once") {
    mock_cluster brokers;
    brokers.create("in", 1);
    ekiden::thread_pool pool(1);
    kafka::worker worker(brokers.where(), pool.get_executor(), ending_worker(kafka::delivery::exactly_once),
                         nothing);
    std::stop_source stop;
    stop.request_stop();
    worker.run(stop.get_token());
    CHECK(worker.close(0s));
    CHECK_THROWS_AS(worker.run(), std::logic_error);
}

TEST_CASE("kafka::worker: a run() after close() returns at once, because a program can be that quick") {
    ekiden::thread_pool pool(1);
    kafka::worker worker({.brokers = "127.0.0.1:1"}, pool.get_executor(),
                         ending_worker(kafka::delivery::exactly_once), nothing);
    CHECK(worker.close(0s));
    worker.run();
    CHECK_THROWS_AS(worker.run(), std::logic_error);
}

TEST_CASE("kafka::worker: in the child of a fork, the destructor does not wait for threads of the parent") {
    ekiden::thread_pool pool(1);
    using worker = kafka::worker<ekiden::thread_pool::executor_type>;
    auto made = std::make_unique<worker>(kafka::settings{.brokers = "127.0.0.1:1"}, pool.get_executor(),
                                         ending_worker(kafka::delivery::exactly_once), nothing);
    CHECK(ekiden_test::run_in_child([&] {
              made.reset();
              std::_Exit(0); // without a search for leaks, because the object stays
          }).exit_code
          == 0);
}
