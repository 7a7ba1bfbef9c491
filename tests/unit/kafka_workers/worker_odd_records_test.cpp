// Records, outputs, executors and topics that are unusual.
#include <ekiden/async.hpp>
#include <ekiden/execution/inline_executor.hpp>
#include <ekiden/kafka.hpp>
#include <ekiden/pool.hpp>
#include <tests/unit/kafka/mock_cluster.hpp>
#include <tests/unit/kafka_workers/running_worker.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

namespace kafka = ekiden::kafka;
using namespace std::chrono_literals;
using ekiden_test::eventually;
using ekiden_test::mock_cluster;
using ekiden_test::running_worker;

kafka::worker_options odd_worker(kafka::delivery mode = kafka::delivery::at_least_once) {
    kafka::worker_options chosen{.group = "bank", .topic = "in", .name = "one"};
    chosen.mode = mode;
    chosen.session = 6'000ms;
    chosen.revoke_limit = 1'000ms;
    chosen.transaction_limit = 2'000ms;
    chosen.commit_every = 20ms;
    chosen.retry.delay = 1ms;
    return chosen;
}

/// Produces records that a poster cannot make, such as records without a key.
class raw_producer {
public:
    explicit raw_producer(const mock_cluster& brokers) {
        rd_kafka_conf_t* const conf = rd_kafka_conf_new();
        char reason[256];
        rd_kafka_conf_set(conf, "bootstrap.servers", brokers.where().brokers.c_str(), reason, sizeof reason);
        rd_kafka_conf_set(conf, "message.max.bytes", "10000000", reason, sizeof reason);
        client_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason));
        topic_.reset(rd_kafka_topic_new(client_.get(), "in", nullptr));
    }
    void add(std::int32_t partition, const std::string* key, const std::string* value) {
        REQUIRE(rd_kafka_produce(topic_.get(), partition, RD_KAFKA_MSG_F_COPY,
                                 value == nullptr ? nullptr : const_cast<char*>(value->data()),
                                 value == nullptr ? 0 : value->size(), key == nullptr ? nullptr : key->data(),
                                 key == nullptr ? 0 : key->size(), nullptr)
                == 0);
    }
    ~raw_producer() { CHECK(rd_kafka_flush(client_.get(), 30'000) == RD_KAFKA_RESP_ERR_NO_ERROR); }

private:
    ekiden::kafka::detail::client_handle client_;
    ekiden::kafka::detail::topic_handle topic_;
};

bool is_idle(const kafka::worker_metrics& now, std::size_t partitions) {
    return now.partitions.size() == partitions
           && std::ranges::all_of(now.partitions, [](const auto& p) { return p.lag == 0 && p.held == 0; });
}

/// One function in ten sends its output to a topic that the brokers do not have.
void send_to_no_topic(kafka::delivery mode) {
    mock_cluster brokers;
    for (const char* topic : {"in", "out", "dead", "none"}) brokers.create(topic, 1);
    rd_kafka_mock_topic_set_error(brokers.get(), "none", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    {
        raw_producer to(brokers);
        for (int i = 0; i < 20; ++i) {
            const std::string text = std::to_string(i);
            to.add(0, &text, &text);
        }
    }
    kafka::worker_options chosen = odd_worker(mode);
    chosen.retry.attempts = 2;
    chosen.retry.then = ekiden::records::on_failure::dead_letter;
    chosen.retry.dead_letters = "dead";
    ekiden::thread_pool pool(2);
    running_worker worker(brokers.where(), pool, chosen, [&](const kafka::request& r, kafka::reply& out) {
        out.post(r.id.offset % 10 == 3 ? "none" : "out", std::string(r.key), std::string(r.value));
    });
    CHECK(eventually([&] { return is_idle(worker.metrics(), 1) && worker.metrics().dead_letters == 2; }));
    CHECK(worker->close(10s));
    const auto dead = brokers.read("dead", 1);
    // A dead letter may be stored twice. At least once: the brokers of librdkafka store a repeated request
    // twice. Exactly once: they also return the records of aborted transactions. If the second record fails
    // in the transaction with the first dead letter, that dead letter is sent again in the next transaction.
    std::set<std::string> values;
    for (const auto& letter : dead) {
        values.insert(letter.value.value());
        CHECK(ekiden::records::find(letter.with, "ekiden-error")->find("none") != std::string::npos);
    }
    CHECK(values == std::set<std::string>{"3", "13"});
}

/// An executor whose first post throws, as if there was no memory.
struct throwing_executor {
    ekiden::thread_pool::executor_type inner;
    std::shared_ptr<std::atomic<bool>> has_thrown = std::make_shared<std::atomic<bool>>(false);

    [[nodiscard]] ekiden::execution_context& context() const { return inner.context(); }
    void on_work_started() const noexcept { inner.on_work_started(); }
    void on_work_finished() const noexcept { inner.on_work_finished(); }
    void dispatch(auto f, const auto& allocator) const { post(std::move(f), allocator); }
    void defer(auto f, const auto& allocator) const { post(std::move(f), allocator); }
    void post(auto f, const auto& allocator) const {
        if (!has_thrown->exchange(true)) throw std::bad_alloc();
        inner.post(std::move(f), allocator);
    }
    friend bool operator==(const throwing_executor&, const throwing_executor&) noexcept = default;
};

} // namespace

TEST_CASE("kafka::worker, at least once: a record whose output has no topic becomes a dead letter") {
    send_to_no_topic(kafka::delivery::at_least_once);
}

TEST_CASE("kafka::worker, exactly once: a record whose output has no topic becomes a dead letter") {
    send_to_no_topic(kafka::delivery::exactly_once);
}

TEST_CASE(
    "kafka::worker: empty keys, no keys, empty values, tombstones and large records arrive as they are") {
    mock_cluster brokers;
    brokers.create("in", 1);
    {
        raw_producer to(brokers);
        const std::string empty;
        const std::string key = "k";
        const std::string large(900'000, 'x');
        to.add(0, &empty, &empty);
        to.add(0, nullptr, nullptr);
        to.add(0, &key, nullptr);
        to.add(0, nullptr, &large);
        to.add(0, &large, &empty);
    }
    ekiden::thread_pool pool(3);
    std::mutex lock;
    std::map<std::int64_t, std::string> found;
    running_worker worker(brokers.where(), pool, odd_worker(), [&](const kafka::request& r, kafka::reply&) {
        const std::scoped_lock hold(lock);
        found[r.id.offset] = std::to_string(r.has_key) + std::to_string(r.key.size()) + ' '
                             + std::to_string(r.has_value) + std::to_string(r.value.size());
    });
    CHECK(eventually([&] { return worker.metrics().done == 5 && is_idle(worker.metrics(), 1); }));
    const std::scoped_lock hold(lock);
    CHECK(found[0] == "10 10");
    CHECK(found[1] == "00 00");
    CHECK(found[2] == "11 00");
    CHECK(found[3] == "00 1900000");
    CHECK(found[4] == "1900000 10");
}

TEST_CASE("kafka::worker: records without a key run in parallel") {
    mock_cluster brokers;
    brokers.create("in", 1);
    {
        raw_producer to(brokers);
        const std::string value = "v";
        for (int i = 0; i < 4; ++i) to.add(0, nullptr, &value);
    }
    ekiden::thread_pool pool(4);
    std::atomic<int> inside{0};
    running_worker worker(brokers.where(), pool, odd_worker(), [&](const kafka::request&, kafka::reply&) {
        ++inside;
        CHECK(eventually([&] { return inside == 4; }));
    });
    CHECK(eventually([&] { return worker.metrics().done == 4; }));
}

TEST_CASE("kafka::worker: with a window and a room of 1, and on an inline_executor, each record is handled") {
    mock_cluster brokers;
    brokers.create("in", 1);
    brokers.create("out", 1);
    {
        raw_producer to(brokers);
        for (int i = 0; i < 200; ++i) {
            const std::string text = std::to_string(i % 5);
            to.add(0, &text, &text);
        }
    }
    kafka::worker_options chosen = odd_worker();
    chosen.window = chosen.held = chosen.held_bytes = 1;
    std::atomic<int> calls{0};
    kafka::worker worker(brokers.where(), ekiden::inline_executor(), chosen,
                         [&](const kafka::request& r, kafka::reply& out) {
                             ++calls;
                             out.post("out", std::string(r.key), std::string(r.value));
                         });
    std::thread running([&] { worker.run(); });
    CHECK(eventually([&] { return is_idle(worker.metrics(), 1) && calls == 200; }));
    CHECK(worker.close(10s));
    running.join();
    CHECK(brokers.read("out", 1).size() == 200);
}

TEST_CASE("kafka::worker: if an executor throws, no later record of the key runs") {
    mock_cluster brokers;
    brokers.create("in", 1);
    {
        raw_producer to(brokers);
        const std::string text = "a";
        for (int i = 0; i < 10; ++i) to.add(0, &text, &text);
    }
    ekiden::thread_pool pool(1);
    std::atomic<int> calls{0};
    kafka::worker worker(brokers.where(), throwing_executor{pool.get_executor()}, odd_worker(),
                         [&](const kafka::request&, kafka::reply&) { ++calls; });
    CHECK_THROWS_AS(worker.run(), kafka::error);
    CHECK(calls == 0);
}

TEST_CASE("kafka::worker: an exception of any type is a failure, also from a coroutine") {
    mock_cluster brokers;
    brokers.create("in", 1);
    brokers.create("dead", 1);
    {
        raw_producer to(brokers);
        const std::string value = "v";
        for (int i = 0; i < 3; ++i) to.add(0, nullptr, &value);
    }
    kafka::worker_options chosen = odd_worker();
    chosen.retry.attempts = 2;
    chosen.retry.then = ekiden::records::on_failure::dead_letter;
    chosen.retry.dead_letters = "dead";
    ekiden::thread_pool pool(2);
    SUBCASE("a function") {
        running_worker worker(brokers.where(), pool, chosen, [&](const kafka::request& r, kafka::reply&) {
            if (r.id.offset == 0) throw 7;
            if (r.id.offset == 1) throw std::string("text");
        });
        CHECK(eventually([&] { return worker.metrics().dead_letters == 2 && worker.metrics().done == 1; }));
        CHECK(worker->close(10s));
    }
    SUBCASE("a coroutine") {
        running_worker worker(brokers.where(), pool, chosen,
                              [&](const kafka::request& r, kafka::reply&) -> ekiden::coroutine<> {
                                  if (r.id.offset == 0) throw 7;
                                  co_await ekiden::sleep_for(1ms);
                                  if (r.id.offset == 1) throw std::string("text");
                              });
        CHECK(eventually([&] { return worker.metrics().dead_letters == 2 && worker.metrics().done == 1; }));
        CHECK(worker->close(10s));
    }
    const auto dead = brokers.read("dead", 1);
    REQUIRE(dead.size() == 2);
    CHECK(*ekiden::records::find(dead[0].with, "ekiden-error") == "an exception of unknown type");
    for (const auto& letter : dead) CHECK_FALSE(letter.key); // not an empty key
}

TEST_CASE(
    "kafka::worker: a record of the largest size becomes a dead letter, whatever the text of its error") {
    mock_cluster brokers;
    brokers.create("in", 1);
    brokers.create("dead", 1);
    {
        const kafka::poster to(brokers.where(), {.topic = "in"});
        REQUIRE(to.post("k", std::string(999'900, 'x')));
        REQUIRE(to.post("other", "small"));
        REQUIRE(to.flush(30s));
    }
    for (const kafka::delivery mode : {kafka::delivery::at_least_once, kafka::delivery::exactly_once}) {
        kafka::worker_options chosen = odd_worker(mode);
        chosen.group = mode == kafka::delivery::exactly_once ? "once" : "least";
        chosen.retry.attempts = 1;
        chosen.retry.then = ekiden::records::on_failure::dead_letter;
        chosen.retry.dead_letters = "dead";
        ekiden::thread_pool pool(2);
        running_worker worker(brokers.where(), pool, chosen, [&](const kafka::request& r, kafka::reply&) {
            if (r.key == "k") throw std::runtime_error(std::string(2'000'000, 'e'));
        });
        CHECK(eventually([&] { return is_idle(worker.metrics(), 1) && worker.metrics().done == 1; }, 20s));
        CHECK(worker->close(10s));
    }
    CHECK(brokers.read("dead", 1).size() == 2);
}

TEST_CASE("kafka::worker: a committed offset beyond the end of the log ends the worker, and skips nothing") {
    mock_cluster brokers;
    brokers.create("in", 1);
    {
        raw_producer to(brokers);
        const std::string text = "v";
        for (int i = 0; i < 50; ++i) to.add(0, &text, &text);
    }
    ekiden::thread_pool pool(1);
    {
        running_worker worker(brokers.where(), pool, odd_worker(),
                              [](const kafka::request&, kafka::reply&) {});
        CHECK(eventually([&] { return worker.metrics().done == 50; }));
        CHECK(worker->close(10s));
    }
    // Another cluster has the same group with the same offset, but fewer records.
    mock_cluster shorter;
    shorter.create("in", 1);
    {
        raw_producer to(shorter);
        const std::string text = "v";
        for (int i = 0; i < 10; ++i) to.add(0, &text, &text);
    }
    {
        rd_kafka_conf_t* const conf = rd_kafka_conf_new();
        char reason[256];
        rd_kafka_conf_set(conf, "bootstrap.servers", shorter.where().brokers.c_str(), reason, sizeof reason);
        rd_kafka_conf_set(conf, "group.id", "bank", reason, sizeof reason);
        const ekiden::kafka::detail::client_handle admin(
            rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason));
        const ekiden::kafka::detail::list_handle list(rd_kafka_topic_partition_list_new(1));
        rd_kafka_topic_partition_list_add(list.get(), "in", 0)->offset = 50;
        REQUIRE(eventually(
            [&] { return rd_kafka_commit(admin.get(), list.get(), 0) == RD_KAFKA_RESP_ERR_NO_ERROR; }));
    }
    running_worker worker(shorter.where(), pool, odd_worker(), [](const kafka::request&, kafka::reply&) {});
    CHECK(eventually([&] { return worker.has_ended(); }, 20s));
    CHECK(worker.failure().find("in[0]") != std::string::npos);
    CHECK(worker.failure().find("50") != std::string::npos);
}
