// The records of a worker: how they are read, how their lanes return them, and which outputs are allowed.
#include <ekiden/kafka/detail/worker_driver.hpp>
#include <ekiden/observe/trace.hpp>

#include <algorithm>
#include <functional>
#include <set>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

// ---- the lanes

bool lent_record::begin() {
    held_record& lent = *std::exchange(lent_, nullptr);
    if (!owner_->begin(lent)) { // the record belongs to the core again
        owner_.reset();
        return false;
    }
    lent_ = &lent;
    return true;
}

request lent_record::argument() const { return lent_->request(); }

void lent_record::succeed(reply&& outputs) noexcept {
    const auto owner = std::move(owner_);
    owner->succeed(*std::exchange(lent_, nullptr), std::move(outputs));
}
void lent_record::fail(const std::exception_ptr& reason) noexcept {
    const auto owner = std::move(owner_);
    owner->fail(*std::exchange(lent_, nullptr), reason);
}
void lent_record::abandon() noexcept { owner_->abandon(*lent_); }

coroutine<> record_starter::await_function(lent_record lent) {
    if (!lent.begin()) co_return;
    reply outputs;
    std::exception_ptr failure;
    try {
        const request argument = lent.argument();
        co_await call(argument, outputs);
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure != nullptr)
        lent.fail(failure);
    else
        lent.succeed(std::move(outputs));
}

std::uint64_t lane_of(const held_record& r) noexcept {
    constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15; // 2^64 divided by the golden ratio
    const auto partition = static_cast<std::uint64_t>(r.id.partition);
    if (!r.has_key) return (static_cast<std::uint64_t>(r.id.offset) + (partition << 48U)) * odd;
    return std::hash<std::string_view>()(r.key) + (partition + 1) * odd;
}

bool worker_driver::begin(held_record& r) {
    // Relaxed is enough: an earlier record of the key was abandoned in this lane, or before this record was
    // posted. A later record must not run before it.
    if (!is_abandoned_.load(sys::relaxed)) return core_.begin(r);
    core_.abandoned(r);
    return false;
}

void worker_driver::succeed(held_record& r, reply&& outputs) noexcept {
    trace::mark("kafka: done", static_cast<std::uint32_t>(r.id.offset));
    if (auto fault = fault_of(outputs)) return core_.ended(r, *fault);
    core_.ended(r, std::move(outputs));
}

void worker_driver::fail(held_record& r, const std::exception_ptr& reason) noexcept {
    trace::mark("kafka: failed", static_cast<std::uint32_t>(r.id.offset));
    try {
        std::rethrow_exception(reason);
    } catch (const std::exception& e) {
        core_.ended(r, e.what());
    } catch (...) {
        core_.ended(r, "an exception of unknown type");
    }
}

void worker_driver::abandon(held_record& r) noexcept {
    is_abandoned_.store(true, sys::release);
    core_.abandoned(r);
    wake();
}

/// Returns why a reply can never be sent. Such a reply counts as a failure of the function, because no
/// transaction with it would ever succeed.
std::optional<std::string> worker_driver::fault_of(const reply& outputs) const {
    for (const records::outgoing& one : outputs.sent()) {
        if (!is_topic_name(one.topic))
            return "the reply names the topic \"" + one.topic + "\", which cannot exist";
        std::size_t bytes = 512 + one.key.size() + (one.value ? one.value->size() : 0); // with the overhead
        for (const header& h : one.with) {
            bytes += h.name.size() + h.value.size() + 16;
            if (h.name.find('\0') != h.name.npos) return "the reply has a header whose name has a zero byte";
        }
        if (bytes > most_bytes_)
            return "the reply has a record of " + std::to_string(bytes) + " bytes, allowed is "
                   + std::to_string(most_bytes_);
    }
    return std::nullopt;
}

// ---- reading

fetched_record to_fetched(rd_kafka_message_t& message) {
    fetched_record one;
    one.offset = message.offset;
    rd_kafka_timestamp_type_t type{};
    one.timestamp = rd_kafka_message_timestamp(&message, &type);
    one.has_key = message.key != nullptr;
    one.has_value = message.payload != nullptr;
    if (one.has_key) one.key = {static_cast<const char*>(message.key), message.key_len};
    if (one.has_value) one.value = {static_cast<const char*>(message.payload), message.len};
    one.payload = &message;
    rd_kafka_headers_t* list = nullptr;
    if (rd_kafka_message_headers(&message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR) {
        const char* name = nullptr;
        const void* value = nullptr;
        std::size_t size = 0;
        for (std::size_t i = 0; rd_kafka_header_get_all(list, i, &name, &value, &size) == 0; ++i)
            one.with.push_back({name, value == nullptr ? std::string()
                                                       : std::string(static_cast<const char*>(value), size)});
    }
    trace::mark("kafka: received", static_cast<std::uint32_t>(message.offset));
    return one;
}

/// Throws an error if the number of partitions has changed since the worker has begun.
void worker_driver::check_partition_count() {
    const topic_handle topic(rd_kafka_topic_new(consumer_.get(), chosen_.topic.c_str(), nullptr));
    const rd_kafka_metadata_t* found = nullptr;
    expect_success("metadata of " + chosen_.topic,
                   rd_kafka_metadata(consumer_.get(), 0, topic.get(), &found, read_limit_ms));
    const std::unique_ptr<const rd_kafka_metadata_t, destroyed_by<rd_kafka_metadata_destroy>> owner(found);
    const std::int32_t count = found->topic_cnt == 1 ? found->topics[0].partition_cnt : 0;
    if (count == 0)
        throw error("ekiden: kafka: " + chosen_.topic + " has no partitions now", error_kind::retriable, 0);
    if (partition_count_ == 0 || chosen_.allow_growth) partition_count_ = count;
    if (partition_count_ != count)
        throw error("ekiden: kafka: the topic " + chosen_.topic + " had " + std::to_string(partition_count_)
                        + " partitions and has " + std::to_string(count)
                        + " now, so keys move and lose their order",
                    error_kind::fatal, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
}

/// Throws an error if the log of a partition ends before `position`, up to which records have been handled.
/// Then the offsets of the log begin again, and the records below `position` would count as done.
void worker_driver::check_log(std::int32_t partition, std::int64_t position) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    const rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(consumer_.get(), chosen_.topic.c_str(),
                                                                      partition, &low, &high, read_limit_ms);
    const std::string name = chosen_.topic + "[" + std::to_string(partition) + "]";
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        throw error(make_error("end of the log of " + name, code).what(), error_kind::retriable, code);
    if (high >= position) return;
    throw error(
        "ekiden: kafka: the log of " + name + " ends at offset " + std::to_string(high)
            + ", but the group has handled records up to offset " + std::to_string(position)
            + ": the topic was created again, or the brokers have lost records. Set the offset of the "
              "group to continue",
        error_kind::fatal, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE);
}

loaded_offset worker_driver::read_committed(std::int32_t partition, std::uint64_t epoch) {
    const std::int32_t one[] = {partition};
    const list_handle list = list_of(one);
    expect_success("committed offset", rd_kafka_committed(consumer_.get(), list.get(), read_limit_ms));
    const rd_kafka_topic_partition_t& found = list->elems[0];
    expect_success("committed offset", found.err);
    loaded_offset answer;
    answer.partition = partition;
    answer.epoch = epoch;
    answer.offset = found.offset < 0 ? -1 : found.offset;
    if (found.metadata != nullptr)
        answer.metadata.assign(static_cast<const char*>(found.metadata), found.metadata_size);
    if (answer.offset > 0) check_log(partition, answer.offset);
    if (chosen_.retry.then == records::on_failure::park_key) answer.parked = read_parked(partition);
    return answer;
}

/// Reads the topic of parked keys from its beginning to its present end.
std::vector<std::string> worker_driver::read_parked(std::int32_t partition) {
    const std::string topic = parked_topic(core_options_);
    configuration made(configured, fixed_for_workers());
    made.set("group.id", chosen_.group + ".parked"); // the reader does not join this group
    made.set("enable.auto.commit", "false");
    made.set("isolation.level", "read_committed");
    made.set("auto.offset.reset", "earliest");
    made.set("enable.partition.eof", "true");
    rd_kafka_conf_set_opaque(made.get(), static_cast<client_base*>(this));
    const client_handle reader = made.make(RD_KAFKA_CONSUMER);
    rd_kafka_poll_set_consumer(reader.get());
    const topic_handle handle(rd_kafka_topic_new(reader.get(), topic.c_str(), nullptr));
    const rd_kafka_metadata_t* described = nullptr;
    expect_success("metadata of " + topic,
                   rd_kafka_metadata(reader.get(), 0, handle.get(), &described, read_limit_ms));
    const std::unique_ptr<const rd_kafka_metadata_t, destroyed_by<rd_kafka_metadata_destroy>> owner(
        described);
    const int count = described->topic_cnt == 1 ? described->topics[0].partition_cnt : 0;
    if (count == 0)
        throw make_error("topic of parked keys " + topic, RD_KAFKA_RESP_ERR__TIMED_OUT, "has no partitions");
    const list_handle all(rd_kafka_topic_partition_list_new(count));
    for (int p = 0; p < count; ++p)
        rd_kafka_topic_partition_list_add(all.get(), topic.c_str(), p)->offset = RD_KAFKA_OFFSET_BEGINNING;
    expect_success("read " + topic, rd_kafka_assign(reader.get(), all.get()));
    std::set<std::string> parked;
    const auto limit = sys::clock::now() + std::chrono::seconds(30);
    std::set<std::int32_t> ended; // A partition that grows meanwhile has more than one end.
    while (ended.size() < static_cast<std::size_t>(count)) {
        if (sys::clock::now() > limit) throw make_error("read " + topic, RD_KAFKA_RESP_ERR__TIMED_OUT);
        const std::unique_ptr<rd_kafka_message_t, destroyed_by<rd_kafka_message_destroy>> message(
            rd_kafka_consumer_poll(reader.get(), 100));
        if (message == nullptr) continue;
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) ended.insert(message->partition);
        if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR || message->key == nullptr) continue;
        const auto name = read_parked_key({static_cast<const char*>(message->key), message->key_len});
        if (!name || name->topic != chosen_.topic || name->partition != partition) continue;
        if (message->payload != nullptr)
            parked.insert(name->key);
        else
            parked.erase(name->key);
    }
    rd_kafka_consumer_close(reader.get());
    return {parked.begin(), parked.end()};
}

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
