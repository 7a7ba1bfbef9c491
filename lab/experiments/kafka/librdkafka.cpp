#include <lab/experiments/kafka/kafka.hpp>
#include <lab/harness/registry.hpp>
#include <tests/kafka/client.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <sys/wait.h>
#include <utility>
#include <vector>

namespace lab::kafka {

using kafka_soak::client;
using kafka_soak::configured;
using kafka_soak::make_client;
using kafka_soak::message;

setting parse(const cell& c) {
    setting s;
    s.work = std::chrono::milliseconds(std::stoi(c.asked().variant));
    s.zipf = c.asked().variant.find("Zipf") != std::string::npos;
    s.records = s.work.count() == 0   ? c.pick(600, 100'000, 1'000'000)
                : s.work.count() == 1 ? c.pick(300, 10'000, 100'000)
                                      : c.pick(100, 1'000, 20'000);
    return s;
}

std::string fresh_group() {
    static unsigned count = 0;
    return "lab-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

std::string shared_broker(cell& c) {
    std::string here(4096, '\0');
    here.resize(static_cast<std::size_t>(
        std::max<ssize_t>(::readlink("/proc/self/exe", here.data(), here.size()), 0)));
    here.resize(here.rfind('/'));
    // A JVM needs a few seconds to start.
    const std::string line = std::string("'") + LAB_KAFKA_SCRIPT + "' share '" + here + "/kafka-broker' "
                             + std::to_string(::getppid()) + " 1";
    std::FILE* output = ::popen(line.c_str(), "r");
    if (output == nullptr) c.fail("cannot run " + line);
    char buffer[512] = {};
    std::string servers;
    while (std::fgets(buffer, sizeof buffer, output) != nullptr) servers += buffer;
    const int status = ::pclose(output);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        c.not_applicable("built without brokers: Kafka needs a JDK (default-jdk-headless) and Maven (maven)");
    if (status != 0 || servers.empty()) c.fail("the broker does not start: " + line);
    servers.pop_back(); // the end of the line
    return servers;
}

namespace {

// Sends `count` records. The value is the number of the record within its key, in 100 bytes.
void fill(const std::string& brokers, const std::string& topic, std::size_t count, bool zipf) {
    const client producer = make_client(RD_KAFKA_PRODUCER, configured({{"bootstrap.servers", brokers},
                                                                       {"enable.idempotence", "true"},
                                                                       {"partitioner", "murmur2_random"},
                                                                       {"linger.ms", "20"}}));
    std::vector<double> weights(keys, 1.0);
    if (zipf)
        for (unsigned k = 0; k < keys; ++k) weights[k] = 1.0 / (k + 1);
    std::discrete_distribution<unsigned> which(weights.begin(), weights.end());
    std::mt19937 random(7);
    std::vector<std::uint32_t> next(keys);
    for (std::size_t i = 0; i < count; ++i) {
        const unsigned key = which(random);
        std::string value = std::to_string(next[key]++);
        value.resize(100, ' ');
        kafka_soak::produce(producer.get(), topic, std::to_string(key), value);
        rd_kafka_poll(producer.get(), 0);
    }
    kafka_soak::check(rd_kafka_flush(producer.get(), 60'000), "fill the topic");
}

bool has_topic(const std::string& brokers, const std::string& topic) {
    const client asker = make_client(RD_KAFKA_PRODUCER, configured({{"bootstrap.servers", brokers}}));
    const rd_kafka_metadata_t* found = nullptr;
    kafka_soak::check(rd_kafka_metadata(asker.get(), 1, nullptr, &found, 30'000), "read the metadata");
    const kafka_soak::owned<const rd_kafka_metadata_t> all(found);
    return std::any_of(all->topics, all->topics + all->topic_cnt,
                       [&](const auto& t) { return t.topic == topic; });
}

} // namespace

std::string filled_topic(cell& c, const std::string& brokers, const setting& s) {
    const std::size_t count = c.pick(600, 100'000, 1'000'000);
    const std::string topic = (s.zipf ? "zipf-" : "uniform-") + std::to_string(count);
    try {
        if (!has_topic(brokers, topic)) {
            kafka_soak::create_topic(brokers, topic, partitions);
            fill(brokers, topic, count, s.zipf);
        }
    } catch (const std::exception& error) {
        c.fail(error.what());
    }
    return topic;
}

void intake::handle(std::string_view key, std::string_view value) {
    if (begun_.fetch_add(1) == 0) begin_ = usage_now();
    if (setting_.work.count() > 0) std::this_thread::sleep_for(setting_.work);
    unsigned k = 0;
    std::uint32_t n = 0;
    std::from_chars(key.data(), key.data() + key.size(), k);
    std::from_chars(value.data(), value.data() + value.size(), n);
    if (next_[k % keys].exchange(n + 1) != n && ordered_) disordered_.fetch_add(1);
    if (handled_.fetch_add(1) + 1 == setting_.records) {
        end_ = usage_now();
        done_ = true;
    }
}

bool intake::wait(double patience_s) const {
    std::size_t last = 0;
    std::uint64_t since = now_ns();
    while (!done_) {
        const std::size_t now = handled_;
        if (now != std::exchange(last, now)) since = now_ns();
        if (static_cast<double>(now_ns() - since) > patience_s * 1e9) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

repetition intake::result() const { return figures_of(setting_, end_ - begin_); }

repetition figures_of(const setting& s, const usage& used) {
    repetition done;
    done.used = used;
    const auto count = static_cast<double>(s.records);
    done.figures = {{"us_per_record", used.wall_s * 1e6 / count}, {"cpu_us", used.cpu_s() * 1e6 / count}};
    if (s.work.count() > 0)
        done.figures["in_flight_share"] =
            count / used.wall_s * std::chrono::duration<double>(s.work).count() / in_flight;
    return done;
}

namespace {

using handler = std::function<void(std::string_view, std::string_view)>;

client reader_of(const std::string& brokers, const std::string& topic, const std::string& group,
                 unsigned first, unsigned last) {
    client reader = make_client(
        RD_KAFKA_CONSUMER,
        configured({{"bootstrap.servers", brokers}, {"group.id", group}, {"auto.offset.reset", "earliest"}}));
    const auto list = kafka_soak::partitions_of(topic, static_cast<int>(partitions));
    const kafka_soak::partition_list some(rd_kafka_topic_partition_list_new(static_cast<int>(partitions)));
    for (unsigned p = first; p < last; ++p)
        rd_kafka_topic_partition_list_add(some.get(), topic.c_str(), static_cast<std::int32_t>(p));
    kafka_soak::check(rd_kafka_assign(reader.get(), some.get()), "assign");
    rd_kafka_poll_set_consumer(reader.get());
    return reader;
}

// Calls f with each record until a stop is requested.
template <class F>
void read(rd_kafka_t* reader, const std::stop_token& stop, F f) {
    rd_kafka_queue_t* queue = rd_kafka_queue_get_consumer(reader);
    std::vector<rd_kafka_message_t*> batch(1000);
    while (!stop.stop_requested()) {
        const ssize_t count = rd_kafka_consume_batch_queue(queue, 50, batch.data(), batch.size());
        for (ssize_t i = 0; i < count; ++i) {
            message m(batch[static_cast<std::size_t>(i)]);
            if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR && !stop.stop_requested()) f(std::move(m));
        }
    }
    rd_kafka_queue_destroy(queue);
    rd_kafka_consumer_close(reader);
}

// One thread reads and handles all partitions.
class plain_consumer {
public:
    static constexpr bool ordered = true;
    plain_consumer(const std::string& brokers, const std::string& topic, const std::string& group,
                   const setting&, handler f)
        : reader_(reader_of(brokers, topic, group, 0, partitions)),
          thread_([this, f](const std::stop_token& stop) {
              read(reader_.get(), stop,
                   [&](const message& m) { f(kafka_soak::key_of(*m), kafka_soak::value_of(*m)); });
          }) {}

private:
    client reader_;
    std::jthread thread_;
};

// A consumer and a thread for each partition.
class consumer_per_partition {
public:
    static constexpr bool ordered = true;
    consumer_per_partition(const std::string& brokers, const std::string& topic, const std::string& group,
                           const setting&, handler f) {
        for (unsigned p = 0; p < partitions; ++p)
            readers_.push_back(reader_of(brokers, topic, group, p, p + 1));
        for (unsigned p = 0; p < partitions; ++p)
            threads_.emplace_back([this, f, p](const std::stop_token& stop) {
                read(readers_[p].get(), stop,
                     [&](const message& m) { f(kafka_soak::key_of(*m), kafka_soak::value_of(*m)); });
            });
    }

private:
    std::vector<client> readers_;
    std::vector<std::jthread> threads_;
};

// One thread reads, and a pool handles the records in any order. The offsets are committed too early.
class consumer_and_pool {
public:
    static constexpr bool ordered = false;
    consumer_and_pool(const std::string& brokers, const std::string& topic, const std::string& group,
                      const setting&, handler f)
        : reader_(reader_of(brokers, topic, group, 0, partitions)) {
        for (unsigned i = 0; i < in_flight; ++i)
            workers_.emplace_back([this, f](const std::stop_token& stop) {
                while (const std::optional<message> m = pop(stop))
                    f(kafka_soak::key_of(**m), kafka_soak::value_of(**m));
            });
        thread_ = std::jthread([this](const std::stop_token& stop) {
            read(reader_.get(), stop, [&](message m) { push(std::move(m), stop); });
        });
    }

private:
    static constexpr std::size_t room = 1000;

    void push(message m, const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [this] { return waiting_.size() < room; })) return;
        waiting_.push_back(std::move(m));
        lock.unlock();
        ready_.notify_one();
    }
    std::optional<message> pop(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        if (!ready_.wait(lock, stop, [this] { return !waiting_.empty(); })) return std::nullopt;
        message m = std::move(waiting_.front());
        waiting_.pop_front();
        const bool has_room = waiting_.size() == room / 2;
        lock.unlock();
        if (has_room) changed_.notify_one();
        return m;
    }

    client reader_;
    std::mutex mutex_;
    std::condition_variable_any ready_, changed_;
    std::deque<message> waiting_;
    std::vector<std::jthread> workers_;
    std::jthread thread_;
};

template <class System>
bool add_row(const char* name, const char* title, const char* note, int order, bool ranked) {
    return add(implementation{.experiment = "kafka",
                              .name = name,
                              .title = title,
                              .note = note,
                              .run = &run<System>,
                              .pinnable = false,
                              .order = order,
                              .ranked = ranked});
}

const bool added = add_row<plain_consumer>("plain-consumer", "plain consumer", "one thread", 10, false)
                   && add_row<consumer_per_partition>("consumer-per-partition", "plain consumers",
                                                      "a thread per partition", 20, true)
                   && add_row<consumer_and_pool>("consumer-and-pool", "plain consumer and a pool",
                                                 "no order, nothing is safe", 30, false);

} // namespace
} // namespace lab::kafka
