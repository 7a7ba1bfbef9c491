/// Real brokers, which tools/kafka.sh has started, and workers in processes of their own.
#pragma once

#include <ekiden/kafka/detail/client.hpp>
#include <tests/unit/kafka/mock_cluster.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace ekiden_test {

inline ekiden::kafka::settings real_brokers() {
    const char* const brokers = std::getenv("KAFKA_BROKERS");
    REQUIRE_MESSAGE(brokers != nullptr, "KAFKA_BROKERS is not set: see tools/kafka.sh");
    return {.brokers = brokers};
}

/// Calls `ask` with an admin client and a queue, and checks the result of each topic.
template <class Ask>
void as_admin(rd_kafka_event_type_t answer, Ask&& ask) {
    namespace detail = ekiden::kafka::detail;
    char reason[256];
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", real_brokers().brokers.c_str(), reason, sizeof reason);
    const detail::client_handle admin(rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason));
    const detail::queue_handle queue(rd_kafka_queue_new(admin.get()));
    ask(admin.get(), queue.get());
    const detail::event_handle event(rd_kafka_queue_poll(queue.get(), 30'000));
    REQUIRE(event != nullptr);
    REQUIRE(rd_kafka_event_type(event.get()) == answer);
    REQUIRE(rd_kafka_event_error(event.get()) == RD_KAFKA_RESP_ERR_NO_ERROR);
}

/// Creates a topic with a name that no other test has, and returns its name.
inline std::string new_topic(const char* what, int partitions) {
    static std::atomic<int> count{0};
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    const std::string name = std::string(what) + '-' + std::to_string(now) + '-' + std::to_string(count++);
    as_admin(RD_KAFKA_EVENT_CREATETOPICS_RESULT, [&](rd_kafka_t* admin, rd_kafka_queue_t* queue) {
        char reason[256];
        rd_kafka_NewTopic_t* topic =
            rd_kafka_NewTopic_new(name.c_str(), partitions, 1, reason, sizeof reason);
        rd_kafka_CreateTopics(admin, &topic, 1, nullptr, queue);
        rd_kafka_NewTopic_destroy(topic);
    });
    return name;
}

inline void grow_topic(const std::string& name, std::size_t partitions) {
    as_admin(RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT, [&](rd_kafka_t* admin, rd_kafka_queue_t* queue) {
        char reason[256];
        rd_kafka_NewPartitions_t* more =
            rd_kafka_NewPartitions_new(name.c_str(), partitions, reason, sizeof reason);
        rd_kafka_CreatePartitions(admin, &more, 1, nullptr, queue);
        rd_kafka_NewPartitions_destroy(more);
    });
}

/// A committed offset and its metadata.
struct committed {
    std::int64_t offset = -1;
    std::string metadata;
};

/// A consumer that is not in the group, but reads or writes its offsets.
template <class Use>
void with_offsets(const std::string& group, const std::string& topic, int partition, Use&& use) {
    namespace detail = ekiden::kafka::detail;
    char reason[256];
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", real_brokers().brokers.c_str(), reason, sizeof reason);
    rd_kafka_conf_set(conf, "group.id", group.c_str(), reason, sizeof reason);
    rd_kafka_conf_set(conf, "enable.auto.commit", "false", reason, sizeof reason);
    const detail::client_handle reader(rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason));
    const detail::list_handle list(rd_kafka_topic_partition_list_new(1));
    use(reader.get(), list.get(), rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition));
}
inline committed read_committed(const std::string& group, const std::string& topic, int partition) {
    committed found;
    with_offsets(group, topic, partition, [&](rd_kafka_t* reader, auto* list, auto* one) {
        REQUIRE(rd_kafka_committed(reader, list, 20'000) == RD_KAFKA_RESP_ERR_NO_ERROR);
        found.offset = one->offset;
        if (one->metadata != nullptr)
            found.metadata.assign(static_cast<char*>(one->metadata), one->metadata_size);
    });
    return found;
}
inline void write_committed(const std::string& group, const std::string& topic, int partition,
                            const committed& what) {
    with_offsets(group, topic, partition, [&](rd_kafka_t* reader, auto* list, auto* one) {
        one->offset = what.offset;
        one->metadata = rd_kafka_mem_malloc(nullptr, what.metadata.size());
        one->metadata_size = what.metadata.size();
        std::memcpy(one->metadata, what.metadata.data(), what.metadata.size());
        REQUIRE(rd_kafka_commit(reader, list, 0) == RD_KAFKA_RESP_ERR_NO_ERROR);
    });
}

/// A worker_process, killed by the destructor. The lines that it writes are collected.
class worker_process {
public:
    explicit worker_process(const std::vector<std::string>& arguments) {
        int ends[2];
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        std::vector<std::string> all{EKIDEN_WORKER_PROCESS};
        all.insert(all.end(), arguments.begin(), arguments.end());
        std::vector<char*> raw;
        for (std::string& one : all) raw.push_back(one.data());
        raw.push_back(nullptr);
        process_ = ::fork();
        REQUIRE(process_ >= 0);
        if (process_ == 0) {
            ::dup2(ends[1], STDOUT_FILENO);
            ::execv(raw[0], raw.data());
            std::_Exit(127);
        }
        ::close(ends[1]);
        reader_ = std::thread([this, from = ends[0]] { read(from); });
    }
    ~worker_process() {
        signal(SIGCONT);
        signal(SIGKILL);
        wait();
        reader_.join();
    }
    worker_process(const worker_process&) = delete;
    worker_process& operator=(const worker_process&) = delete;

    void signal(int number) const {
        if (process_ > 0) ::kill(process_, number);
    }
    /// Waits for the end of the process.
    void wait() {
        if (process_ <= 0) return;
        int status = 0;
        ::waitpid(process_, &status, 0);
        process_ = -1;
    }
    [[nodiscard]] std::vector<std::string> lines() const {
        const std::lock_guard inside(lock_);
        return lines_;
    }
    [[nodiscard]] std::size_t begun() const {
        const std::lock_guard inside(lock_);
        return begun_;
    }
    /// The line "ended ...", or an empty text.
    [[nodiscard]] std::string end() const {
        const std::lock_guard inside(lock_);
        return end_;
    }

private:
    void read(int from) {
        FILE* const file = ::fdopen(from, "r");
        char line[4096];
        while (std::fgets(line, sizeof line, file) != nullptr) {
            const std::lock_guard inside(lock_);
            lines_.emplace_back(line);
            if (lines_.back().starts_with("began ")) ++begun_;
            if (lines_.back().starts_with("ended ")) end_ = lines_.back();
        }
        std::fclose(file);
    }

    pid_t process_ = -1;
    mutable std::mutex lock_;
    std::vector<std::string> lines_;
    std::size_t begun_ = 0;
    std::string end_;
    std::thread reader_;
};

} // namespace ekiden_test
