// A worker of the soak without ekiden: one thread, and one transaction for each batch, like the examples of
// librdkafka. It proves that the soak accepts a correct worker. With --wrong WAY it is a worker that the soak
// must reject.

#include <tests/kafka/client.hpp>
#include <tests/kafka/work.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <iterator>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace kafka_soak {
namespace {

using namespace std::chrono_literals;

volatile std::sig_atomic_t asked_to_stop = 0;

class plain_worker {
public:
    explicit plain_worker(const arguments& given)
        : in_(given.text("in")), out_(given.text("out")), dead_(given.text("dead-letters")),
          wrong_(given.text("wrong")), effects_(given.text("mode") == "effects"),
          transactions_(given.text("mode") == "exactly_once" && wrong_ != "untransacted"
                        && wrong_ != "early"),
          work_(given.number("work-us", 1000)), crash_mark_(given.text("crash-once")),
          journal_(given.text("journal")) {
        auto conf =
            configured({{"bootstrap.servers", given.text("brokers")},
                        {"group.id", given.text("group")},
                        {"enable.auto.commit", "false"},
                        {"auto.offset.reset", "earliest"},
                        {"session.timeout.ms", given.text("session-ms", "6000")},
                        {"heartbeat.interval.ms", std::to_string(given.number("session-ms", 6000) / 4)},
                        {"partition.assignment.strategy", "range"}});
        rd_kafka_conf_set_opaque(conf.get(), this);
        rd_kafka_conf_set_rebalance_cb(conf.get(), &plain_worker::rebalance);
        consumer_ = make_client(RD_KAFKA_CONSUMER, std::move(conf));
        rd_kafka_poll_set_consumer(consumer_.get());
        settings with{{"bootstrap.servers", given.text("brokers")},
                      {"linger.ms", "0"},
                      {"enable.idempotence", "true"},
                      {"partitioner", "murmur2_random"}};
        if (transactions_) {
            with.emplace_back("transactional.id", given.text("group") + "-" + given.text("worker"));
            with.emplace_back("transaction.timeout.ms", given.text("transaction-ms", "10000"));
        }
        producer_ = make_client(RD_KAFKA_PRODUCER, configured(with));
        if (transactions_) must(rd_kafka_init_transactions(producer_.get(), 60'000), "init_transactions");
        partition_list topics(rd_kafka_topic_partition_list_new(1));
        rd_kafka_topic_partition_list_add(topics.get(), in_.c_str(), RD_KAFKA_PARTITION_UA);
        check(rd_kafka_subscribe(consumer_.get(), topics.get()), "subscribe");
    }

    void run() {
        while (asked_to_stop == 0) {
            std::vector<message> batch;
            const auto until = std::chrono::steady_clock::now() + 50ms;
            while (batch.size() < 100 && std::chrono::steady_clock::now() < until) {
                message m(rd_kafka_consumer_poll(consumer_.get(), 20));
                if (lost_)
                    batch.clear(); // a rebalance ran in the poll: it has forgotten what was read before
                lost_ = false;
                if (m && m->err == RD_KAFKA_RESP_ERR_NO_ERROR) batch.push_back(std::move(m));
            }
            if (!batch.empty()) handle(batch);
        }
        rd_kafka_consumer_close(consumer_.get());
    }

private:
    static void must(rd_kafka_error_t* result, const char* what) {
        const failure error(result);
        if (error) throw std::runtime_error(std::string(what) + ": " + rd_kafka_error_string(error.get()));
    }

    static void rebalance(rd_kafka_t* of, rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* list,
                          void* self) {
        rd_kafka_assign(of, what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS ? list : nullptr);
        static_cast<plain_worker*>(self)->lost_ = true;
    }

    void handle(std::vector<message>& batch) {
        if (wrong_ == "early") {
            commit_directly(batch);
            crash_once();
        }
        if (wrong_ == "backwards") std::reverse(batch.begin(), batch.end());
        if (transactions_) must(rd_kafka_begin_transaction(producer_.get()), "begin_transaction");
        if (wrong_ == "overlap") {
            const auto half = batch.begin() + static_cast<std::ptrdiff_t>(batch.size() / 2);
            std::jthread other(
                [&] { std::for_each(batch.begin(), half, [this](const message& m) { work(*m); }); });
            std::for_each(half, batch.end(), [this](const message& m) { work(*m); });
        } else {
            for (const message& m : batch) work(*m);
        }
        if (transactions_) {
            commit(batch);
        } else {
            check(rd_kafka_flush(producer_.get(), 60'000), "flush");
            if (wrong_ == "early") return;
            crash_once();
            commit_directly(batch);
        }
    }

    void work(const rd_kafka_message_t& m) {
        const input what = read_input(key_of(m), value_of(m));
        const unsigned number = ++worked_;
        if (wrong_ == "stands" && number == 100) std::this_thread::sleep_for(5s);
        journal_.began(what.which, m.partition, m.offset, 1);
        const auto time = work_of(what, work_);
        if (time > 0us) std::this_thread::sleep_for(time);
        const bool poison = what.kind == 'x';
        if (effects_ && !poison && wrong_ != "drops" && wrong_ != "tokenless")
            journal_.effect(what.which, m.partition, m.offset);
        if (effects_ && wrong_ == "tokenless") // a token that is always larger than the last one
            journal_.effect(what.which, m.partition,
                            std::chrono::steady_clock::now().time_since_epoch().count());
        const bool dropped = wrong_ == "drops" && number % 100 == 0;
        const int times = dropped ? 0 : wrong_ == "doubles" && number % 100 == 0 ? 2 : 1;
        for (int i = 0; i < times; ++i)
            produce(producer_.get(), poison ? dead_ : out_, key_of(m), value_of(m));
        journal_.ended(what.which, m.partition, m.offset);
        rd_kafka_poll(producer_.get(), 0);
    }

    // With --crash-once FILE, the first process that has worked on 100 records dies here, as by kill -9.
    void crash_once() const {
        if (crash_mark_.empty() || worked_ < 100) return;
        const int mark = ::open(crash_mark_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (mark >= 0) ::kill(::getpid(), SIGKILL);
    }

    // The offsets behind the batch.
    static partition_list offsets_of(const std::vector<message>& batch) {
        partition_list list(rd_kafka_topic_partition_list_new(8));
        for (const message& m : batch) {
            const char* topic = rd_kafka_topic_name(m->rkt);
            auto* at = rd_kafka_topic_partition_list_find(list.get(), topic, m->partition);
            if (at == nullptr) {
                at = rd_kafka_topic_partition_list_add(list.get(), topic, m->partition);
                at->offset = 0;
            }
            at->offset = std::max(at->offset, m->offset + 1);
        }
        return list;
    }

    void commit_directly(const std::vector<message>& batch) {
        const partition_list offsets = offsets_of(batch);
        const auto error = rd_kafka_commit(consumer_.get(), offsets.get(), 0);
        if (error != RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION && error != RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID
            && error != RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS)
            check(error, "commit");
    }

    // If the transaction must be aborted, the worker ends, and its successor reads the committed offsets.
    void commit(const std::vector<message>& batch) {
        const partition_list offsets = offsets_of(batch);
        const owned<rd_kafka_consumer_group_metadata_t> group(
            rd_kafka_consumer_group_metadata(consumer_.get()));
        must(rd_kafka_send_offsets_to_transaction(producer_.get(), offsets.get(), group.get(), 60'000),
             "send_offsets");
        crash_once();
        must(rd_kafka_commit_transaction(producer_.get(), -1), "commit_transaction");
    }

    std::string in_, out_, dead_, wrong_;
    bool effects_, transactions_, lost_ = false;
    std::chrono::microseconds work_;
    std::string crash_mark_;
    journal journal_;
    client consumer_, producer_;
    std::atomic<unsigned> worked_ = 0;
};

} // namespace
} // namespace kafka_soak

int main(int count, char** words) try {
    std::signal(SIGTERM, [](int) { kafka_soak::asked_to_stop = 1; });
    kafka_soak::plain_worker(kafka_soak::arguments(count, words)).run();
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "kafka_plain_worker: %s\n", error.what());
    return 1;
}
