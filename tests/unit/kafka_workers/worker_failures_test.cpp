// What a worker does when functions, brokers, its executor or its process fail.
#include <ekiden/kafka.hpp>
#include <ekiden/kafka/detail/core_options.hpp>
#include <ekiden/pool.hpp>
#include <tests/unit/kafka/mock_cluster.hpp>
#include <tests/unit/kafka_workers/running_worker.hpp>
#include <tests/unit/kafka_workers/worker_process.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
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
using ekiden_test::stored;
using ekiden_test::worker_process;

kafka::worker_options failing_worker(kafka::delivery mode = kafka::delivery::at_least_once) {
    kafka::worker_options chosen{.group = "bank", .topic = "in", .name = "one"};
    chosen.mode = mode;
    chosen.session = 6'000ms;
    chosen.revoke_limit = 3'000ms;
    chosen.commit_every = 20ms;
    chosen.retry.delay = 10ms;
    return chosen;
}

/// Posts the values `from` to `from + count - 1` for each of the keys "0", "1", ...
void post_values(mock_cluster& brokers, int keys, int from, int count) {
    const kafka::poster to(brokers.where(), {.topic = "in", .policy = ekiden::when_full::block});
    for (int i = from; i < from + count; ++i)
        for (int k = 0; k < keys; ++k) REQUIRE(to.post(std::to_string(k), std::to_string(i)));
    REQUIRE(to.flush(30s));
}

std::vector<std::string> values_of(const std::vector<stored>& found, const std::string& key) {
    std::vector<std::string> values;
    for (const stored& one : found)
        if (one.key == key) values.push_back(one.value.value());
    return values;
}

void inject_errors(kafka::delivery mode) {
    using errors = std::vector<rd_kafka_resp_err_t>;
    {
        mock_cluster brokers;
        brokers.create("in", 2);
        brokers.create("out", 2);
        ekiden::thread_pool pool(2);
        seen_records seen;
        running_worker worker(brokers.where(), pool, failing_worker(mode),
                              [&](const kafka::request& r, kafka::reply& out) {
                                  seen.add(r);
                                  out.post("out", std::string(r.key), std::string(r.value));
                              });
        struct injected {
            api request;
            errors with;
        };
        const std::vector<injected> all = {
            {api::offset_commit,
             {RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
              RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT}},
            {api::produce, {RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT}},
            {api::add_partitions, {RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS}},
            {api::add_partitions, {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED}}, // aborts
            {api::add_offsets, {RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS}},
            {api::add_offsets, {RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED}}, // aborts
            {api::transaction_offsets, {RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS}},
            {api::transaction_offsets, {RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION}}, // aborts
            {api::transaction_offsets, {RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID}},  // aborts
            {api::end_transaction, {RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE}},
            {api::end_transaction, {RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS}},
            {api::metadata, {RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE}},
        };
        int posted = 0;
        for (const auto& [request, with] : all) {
            CAPTURE(static_cast<int>(request));
            CAPTURE(with.front());
            brokers.fail(request, with);
            post_values(brokers, 4, posted, 5);
            posted += 5;
            CHECK(eventually([&] { return seen.count() == 4 * posted; }, 20s));
            CHECK(eventually(
                [&] { // everything is committed
                    return std::ranges::all_of(worker.metrics().partitions,
                                               [](const auto& p) { return p.lag == 0 && p.held == 0; });
                },
                20s));
            brokers.forgive(request);
        }
        CHECK(seen.violations() == 0);
        // No function has run twice for a record, also after an abort. There are two exceptions. The brokers
        // of librdkafka store the records of a request twice if the poster repeats the request. And on a busy
        // machine, the worker may lose its partitions while commits fail. Then it reports which records
        // another worker, or it itself, will handle again.
        const auto now = worker.metrics();
        const auto stored_twice = static_cast<int>(brokers.read("in", 2).size()) - 4 * posted;
        CHECK(seen.repeats() >= stored_twice);
        CHECK(seen.repeats() <= stored_twice + static_cast<int>(now.repeated));
        // On a slow machine, a transaction can also become too old, and is not aborted by a call then.
        if (mode == kafka::delivery::exactly_once) CHECK(now.aborts >= 1);
        CHECK(!worker.has_ended());
        CHECK(worker->close(30s));
    }
}

void give_up_a_record(ekiden::records::on_failure then, const std::vector<std::string>& expected) {
    mock_cluster brokers;
    brokers.create("in", 1);
    brokers.create("dead", 1);
    brokers.create(ekiden::kafka::detail::parked_topic(
                       {.topic = "in", .id = "", .limits = {}, .retry = {.dead_letters = "dead"}})
                       .c_str(),
                   1);
    post_values(brokers, 3, 0, 3);
    ekiden::thread_pool pool(2);
    kafka::worker_options chosen = failing_worker();
    chosen.retry.attempts = 3;
    chosen.retry.dead_letters = "dead";
    chosen.retry.then = then;
    seen_records seen;
    std::atomic<int> calls{0};
    const auto handler = [&](const kafka::request& r, kafka::reply& out) {
        if (r.key == "0" && r.value == "1") {
            CHECK(r.attempt == static_cast<unsigned>(++calls));
            throw std::runtime_error("poison");
        }
        if (r.key == "1" && r.value == "0") { // cannot be sent, so this is a failure of the function
            if (r.attempt == 1) return out.post("no/topic", "", "");
            if (r.attempt == 2) return out.post("out", "", std::string(2'000'000, 'x'));
        }
        seen.add(r);
    };
    const bool parks = chosen.retry.then == ekiden::records::on_failure::park_key;
    {
        running_worker worker(brokers.where(), pool, chosen, handler);
        CHECK(eventually([&] { return worker.metrics().dead_letters == (parks ? 2 : 1); }));
        CHECK(eventually([&] { return worker.metrics().done == (parks ? 7 : 8); }));
        CHECK(worker.metrics().retries >= 4);
        CHECK(worker->close(30s));
    }
    post_values(brokers, 3, 3, 1); // the parked key stays parked after a restart
    running_worker again(brokers.where(), pool, chosen, handler);
    CHECK(eventually([&] { return again.metrics().done + again.metrics().dead_letters == 3; }));
    CHECK(again->close(30s));
    const auto dead = brokers.read("dead", 1);
    CHECK(values_of(dead, "0") == expected);
    CHECK(dead.size() == expected.size());
    const auto* const offset = ekiden::records::find(dead.at(0).with, "ekiden-offset");
    REQUIRE(offset != nullptr);
    CHECK(*offset == "3");
    CHECK(*ekiden::records::find(dead.at(0).with, "ekiden-error") == "poison");
    CHECK(calls == 3);
}

} // namespace

TEST_CASE("kafka::worker_options: a wrong option is refused by its name, before the first connection") {
    ekiden::thread_pool pool(1);
    const auto text_for = [&](auto change) -> std::string {
        kafka::worker_options chosen{.group = "g", .topic = "t", .name = "n"};
        change(chosen);
        try {
            kafka::worker made({.brokers = "127.0.0.1:1"}, pool.get_executor(), chosen,
                               [](const kafka::request&, kafka::reply&) {});
            CHECK(made.close(0s)); // run() was not called
        } catch (const std::invalid_argument& refused) {
            return refused.what();
        }
        return {};
    };
    using o = kafka::worker_options&;
    CHECK(text_for([](o) {}).empty());
    CHECK(text_for([](o c) { c.group.clear(); }).find("group is") != std::string::npos);
    CHECK(text_for([](o c) { c.topic = "a/b"; }).find("topic is") != std::string::npos);
    CHECK(text_for([](o c) { c.name.clear(); }).find("name is") != std::string::npos);
    CHECK(text_for([](o c) { c.window = 24'001; }).find("window is 24001") != std::string::npos);
    CHECK(text_for([](o c) { c.held = 0; }).find("held is 0") != std::string::npos);
    CHECK(text_for([](o c) { c.session = 1ms; }).find("session is 1 ms") != std::string::npos);
    CHECK(text_for([](o c) { c.transaction_limit = 0ms; }).find("transaction_limit") != std::string::npos);
    CHECK(text_for([](o c) { c.retry.attempts = 0; }).find("retry.attempts is 0") != std::string::npos);
    CHECK(text_for([](o c) {
              c.retry.then = ekiden::records::on_failure::dead_letter;
          }).find("retry.dead_letters")
          != std::string::npos);
    using ekiden::records::on_failure;
    const auto text_for_dead_letters = [&](on_failure then, const std::string& topic) {
        return text_for([&](o c) {
            c.topic = "t.parked";
            c.retry.then = then;
            c.retry.dead_letters = topic;
        });
    };
    CHECK(text_for_dead_letters(on_failure::dead_letter, "t").empty());
    CHECK(text_for_dead_letters(on_failure::dead_letter, std::string(249, 'd')).empty());
    CHECK(text_for_dead_letters(on_failure::dead_letter, "t.parked").find("allowed is another topic")
          != std::string::npos);
    CHECK(text_for_dead_letters(on_failure::park_key, std::string(242, 'd')).empty());
    for (const std::string& wrong : {std::string("t"), std::string(243, 'd')})
        CHECK(text_for_dead_letters(on_failure::park_key, wrong).find("retry.dead_letters is")
              != std::string::npos);
    CHECK(text_for_dead_letters(static_cast<on_failure>(3), "d").find("retry.then is 3")
          != std::string::npos);
    CHECK(text_for([](o c) { c.mode = static_cast<kafka::delivery>(2); }).find("mode is 2")
          != std::string::npos);
    const auto with_setting = [&](const char* name, const char* value) -> std::string {
        try {
            const kafka::worker made({.brokers = "127.0.0.1:1", .more = {{name, value}}}, pool.get_executor(),
                                     {.group = "g", .topic = "t", .name = "n"},
                                     [](const kafka::request&, kafka::reply&) {});
        } catch (const std::invalid_argument& refused) {
            return refused.what();
        }
        return {};
    };
    CHECK(with_setting("group.id", "x").find("worker_options::group") != std::string::npos);
    CHECK(with_setting("enable.auto.commit", "true").find("enable.auto.commit") != std::string::npos);
    CHECK(with_setting("fetch.min.bytes", "10").empty());
}

TEST_CASE("kafka::worker, at least once: errors of each call lose nothing and change no order") {
    inject_errors(kafka::delivery::at_least_once);
}

TEST_CASE("kafka::worker, exactly once: errors of each call lose nothing and change no order") {
    inject_errors(kafka::delivery::exactly_once);
}

TEST_CASE("kafka::worker: a fenced producer ends the worker with an error that names its id") {
    mock_cluster brokers;
    brokers.create("in", 1);
    post_values(brokers, 1, 0, 1);
    ekiden::thread_pool pool(1);
    brokers.fail(api::end_transaction, RD_KAFKA_RESP_ERR_PRODUCER_FENCED);
    running_worker worker(brokers.where(), pool, failing_worker(kafka::delivery::exactly_once),
                          [](const kafka::request&, kafka::reply&) {});
    CHECK(eventually([&] { return worker.has_ended(); }));
    CHECK(worker.kind() == kafka::error_kind::fenced);
    CHECK(worker.failure().find("bank.one") != std::string::npos);
    CHECK(worker.metrics().fenced == 1);
    CHECK(!worker->close(1s)); // run() has ended with an error
    CHECK_THROWS_AS(worker->run(), std::logic_error);
}

TEST_CASE("kafka::worker: a record is retried in its place, then is a dead letter, and its key continues") {
    give_up_a_record(ekiden::records::on_failure::dead_letter, {"1"});
}

TEST_CASE("kafka::worker: a worker knows all parked keys, also while their topic grows") {
    mock_cluster brokers(2);
    brokers.create("in", 1);
    brokers.create("dead", 1);
    brokers.create("dead.parked", 2);
    for (const char* topic : {"in", "dead", "dead.parked"}) brokers.set_leader(topic, 0, 1);
    brokers.set_leader("dead.parked", 1, 2);
    rd_kafka_mock_coordinator_set(brokers.get(), "group", "bank", 1);
    kafka::poster parked(brokers.where(), {.topic = "dead.parked"});
    const auto park = [&](std::int32_t partition) { // returns a parked key with its record in this partition
        for (int n = 0;; ++n) {
            std::string key = std::to_string(n);
            if (parked.submit(kafka::detail::parked_key("in", 0, key), "0").get().partition == partition)
                return key;
        }
    };
    const std::string near_key = park(0);
    const std::string far_key = park(1);
    kafka::poster(brokers.where(), {.topic = "in"}).submit(far_key, "0").get();
    brokers.set_round_trip(2, 300ms); // The end of the other partition is reached again and again meanwhile.
    std::jthread grows([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            static_cast<void>(parked.post(kafka::detail::parked_key("in", 0, near_key), "0"));
            std::this_thread::sleep_for(60ms);
        }
    });
    ekiden::thread_pool pool(1);
    kafka::worker_options chosen = failing_worker();
    chosen.mode = kafka::delivery::at_least_once;
    chosen.retry.dead_letters = "dead";
    chosen.retry.then = ekiden::records::on_failure::park_key;
    std::atomic<int> calls{0};
    running_worker worker(brokers.where(), pool, chosen,
                          [&](const kafka::request&, kafka::reply&) { ++calls; });
    CHECK(eventually([&] { return worker.metrics().done + worker.metrics().dead_letters == 1; }));
    CHECK(calls == 0);
}

TEST_CASE("kafka::worker: a parked key stays parked after a restart, and its records keep their order") {
    give_up_a_record(ekiden::records::on_failure::park_key, {"1", "2", "3"});
}

TEST_CASE(
    "kafka::worker, rule 9: other keys pass a stuck record up to the window, and the metrics name its key") {
    mock_cluster brokers;
    brokers.create("in", 1);
    post_values(brokers, 10, 0, 100);
    ekiden::thread_pool pool(2);
    kafka::worker_options chosen = failing_worker();
    chosen.window = 300;
    chosen.held = 400;
    seen_records seen;
    std::atomic<bool> is_stuck{true};
    running_worker worker(brokers.where(), pool, chosen, [&](const kafka::request& r, kafka::reply&) {
        if (r.key == "3" && r.value == "0")
            while (is_stuck) std::this_thread::sleep_for(1ms);
        seen.add(r);
    });
    const auto now = [&] { return worker.metrics().partitions.at(0); };
    CHECK(eventually([&] {
        return worker.metrics().partitions.size() == 1
               && now().paused == ekiden::records::pause_reason::window;
    }));
    CHECK(eventually([&] { return seen.count() >= 270; })); // 9 of 10 keys, offsets 0 to 302
    std::this_thread::sleep_for(300ms);
    CHECK(seen.count() <= 275);
    CHECK(now().oldest_offset == 3);
    CHECK(now().oldest_key == "3");
    CHECK(now().held <= 400);
    is_stuck = false;
    CHECK(eventually([&] { return seen.count() == 1'000; }));
    CHECK(seen.violations() == 0);
    CHECK(worker->close(30s));
}

TEST_CASE("kafka::worker, rule 10: close() returns at its limit, and the destructor waits for the function") {
    mock_cluster brokers;
    brokers.create("in", 1);
    post_values(brokers, 1, 0, 2);
    ekiden::thread_pool pool(2);
    std::atomic<bool> is_stuck{true};
    std::atomic<bool> is_given_up{false};
    std::atomic<int> calls{0};
    std::atomic<bool> was_running{false};
    std::thread release;
    {
        running_worker worker(brokers.where(), pool, failing_worker(),
                              [&](const kafka::request& r, kafka::reply&) {
                                  ++calls;
                                  while (is_stuck) {
                                      if (r.given_up.stop_requested()) is_given_up = true;
                                      std::this_thread::sleep_for(1ms);
                                  }
                                  was_running = true;
                              });
        CHECK(eventually([&] { return calls == 1; }));
        CHECK(!worker->close(200ms));
        CHECK(eventually([&] { return worker.has_ended(); }));
        CHECK(is_given_up);
        CHECK(!worker->close(1s));
        CHECK(!was_running);
        release = std::thread([&] {
            std::this_thread::sleep_for(100ms);
            is_stuck = false;
        });
    }
    CHECK(was_running);
    CHECK(calls == 1); // the second record of the key was given up
    release.join();
}

TEST_CASE(
    "kafka::worker: if the executor drops its records, run() ends with an error and nothing is committed") {
    mock_cluster brokers;
    brokers.create("in", 1);
    post_values(brokers, 5, 0, 10);
    seen_records seen;
    {
        ekiden::thread_pool pool(1);
        std::atomic<bool> is_stuck{true};
        running_worker worker(brokers.where(), pool, failing_worker(),
                              [&](const kafka::request&, kafka::reply&) {
                                  while (is_stuck) std::this_thread::sleep_for(1ms);
                              });
        CHECK(eventually([&] {
            return worker.metrics().partitions.size() == 1 && worker.metrics().partitions[0].running == 1;
        }));
        pool.stop();
        is_stuck = false;
        CHECK(eventually([&] { return worker.has_ended(); }));
        CHECK(worker.kind() == kafka::error_kind::fatal);
        CHECK(worker.failure().find("executor") != std::string::npos);
    }
    ekiden::thread_pool pool(1);
    running_worker next(brokers.where(), pool, failing_worker(),
                        [&](const kafka::request& r, kafka::reply&) { seen.add(r); });
    CHECK(eventually([&] { return seen.count() >= 49; })); // the record that ran may be committed
    CHECK(seen.violations() == 0);
}

TEST_CASE("kafka::worker: workers that join, leave and restart lose nothing and keep the order of keys") {
    mock_cluster brokers;
    brokers.create("in", 4);
    ekiden::thread_pool pool(3);
    seen_records seen;
    const auto handler = [&](const kafka::request& r, kafka::reply&) { seen.add(r); };
    const auto named = [](const char* name) {
        kafka::worker_options chosen = failing_worker();
        chosen.name = name;
        return chosen;
    };
    std::atomic<bool> is_over{false};
    std::atomic<int> posted{0};
    std::thread posting([&] {
        const kafka::poster to(brokers.where(), {.topic = "in", .policy = ekiden::when_full::block});
        for (int i = 0; !is_over; ++i) {
            for (int k = 0; k < 12; ++k) CHECK(to.post(std::to_string(k), std::to_string(i)));
            posted = i + 1;
            std::this_thread::sleep_for(20ms);
        }
        CHECK(to.flush(30s));
    });
    const auto partitions = [](const running_worker& of) { return of.metrics().partitions.size(); };
    std::uint64_t repeated = 0;
    {
        auto one = std::make_unique<running_worker>(brokers.where(), pool, named("one"), handler);
        CHECK(eventually([&] { return partitions(*one) == 4; }));
        auto two = std::make_unique<running_worker>(brokers.where(), pool, named("two"), handler);
        CHECK(eventually([&] { return partitions(*two) == 2 && partitions(*one) == 2; }));
        one.reset(); // leaves
        CHECK(eventually([&] { return partitions(*two) == 4; }));
        is_over = true;
        posting.join();
        CHECK(eventually([&] { return seen.count() == 12 * posted; }));
        CHECK((*two)->close(30s));
        repeated = two->metrics().repeated;
    }
    CHECK(seen.violations() == 0);
    MESSAGE("records: ", seen.count(), ", run again: ", seen.repeats(), ", repeated: ", repeated);
}

TEST_CASE(
    "kafka::worker: a process that was stopped for longer than its session commits nothing afterwards") {
    mock_cluster brokers;
    brokers.create("in", 2);
    brokers.create("out", 2);
    post_values(brokers, 6, 0, 100);
    const auto start = [&](const char* name, const char* work_us) {
        return std::make_unique<worker_process>(std::vector<std::string>{
            brokers.where().brokers, "bank", "in", "out", name, "least", "6000", "6000", work_us});
    };
    const auto zombie = start("zombie", "20000");
    CHECK(eventually([&] { return zombie->begun() >= 20; }));
    zombie->signal(SIGSTOP);
    const auto heir = start("heir", "0");
    std::set<std::string> outputs;
    const auto all_are_there = [&] {
        outputs.clear();
        for (const stored& one : brokers.read("out", 2))
            outputs.insert(one.key.value() + ' ' + one.value.value());
        return outputs.size() == 600;
    };
    CHECK(eventually([&] { return heir->begun() >= 500; }));
    zombie->signal(SIGCONT);
    CHECK(eventually(all_are_there));
    post_values(brokers, 6, 100, 1);
    CHECK(eventually([&] {
        static_cast<void>(all_are_there());
        return outputs.size() == 606;
    }));
    // The heir does not start again from an offset that the zombie has committed.
    heir->signal(SIGTERM);
    heir->wait();
    CHECK(eventually([&] { return heir->end().starts_with("ended cleanly"); }));
}
