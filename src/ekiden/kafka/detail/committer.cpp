#include <ekiden/kafka/detail/committer.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {
namespace {

constexpr fixed_setting fixed[] = {
    {"group.id", "worker_options::group"},
    {"group.protocol", "classic"},
    {"client.id", "worker_options::name"},
    {"enable.auto.commit", "false"},
    {"auto.commit.enable", "false"},
    {"enable.auto.offset.store", "false"},
    {"partition.assignment.strategy", "cooperative-sticky"},
    {"isolation.level", "read_committed"},
    {"auto.offset.reset", "earliest"},
    {"enable.partition.eof", "true"},
    {"session.timeout.ms", "worker_options::session"},
    {"transactional.id", "worker_options::group and worker_options::name"},
    {"transaction.timeout.ms", "worker_options::transaction_limit"},
    {"message.timeout.ms", "worker_options::transaction_limit"},
    {"delivery.timeout.ms", "worker_options::transaction_limit"},
    {"enable.idempotence", "true"},
    {"acks", "all"},
    {"request.required.acks", "all"},
    {"retries", "no limit"},
    {"message.send.max.retries", "no limit"},
    {"partitioner", "murmur2_random"},
};

constexpr int most_metadata_ms = 2'000;
constexpr std::size_t most_added = 4'096; // bytes that a dead letter has more than its record

outcome outcome_of(error_kind kind) noexcept {
    switch (kind) {
    case error_kind::retriable:
        return outcome::retriable;
    case error_kind::abortable:
        return outcome::abortable;
    case error_kind::fenced:
        return outcome::fenced;
    case error_kind::fatal:
        break;
    }
    return outcome::fatal;
}

} // namespace

std::span<const fixed_setting> fixed_for_workers() noexcept { return fixed; }

committer::committer(const settings& where, const worker_options& chosen, rd_kafka_t* consumer)
    : client_base(where), topic_(chosen.topic), id_(chosen.group + '.' + chosen.name), mode_(chosen.mode),
      limit_(chosen.transaction_limit), consumer_(consumer) {
    make_producer(); // checks the settings
}

committer::~committer() { drop_producer(); }

void committer::make_producer() {
    configuration made(configured, fixed);
    made.set("enable.idempotence", "true");
    made.set("partitioner", "murmur2_random");
    if (is_transactional()) {
        made.set("transactional.id", id_);
        made.set("transaction.timeout.ms", std::to_string(limit_.count()));
        made.set_default("linger.ms", "0"); // the commit waits for all outputs anyway
    } else {
        made.set("message.timeout.ms", std::to_string(limit_.count()));
    }
    // A record of the largest size can become a dead letter, too. The default limit of brokers has room for
    // that.
    made.set("message.max.bytes",
             std::to_string(std::min<std::size_t>(made.most_bytes() + most_added, 1'000'000'000)));
    rd_kafka_conf_set_opaque(made.get(), static_cast<client_base*>(this));
    rd_kafka_conf_set_error_cb(made.get(), [](rd_kafka_t*, int, const char*, void* self) {
        ++static_cast<committer*>(static_cast<client_base*>(self))->broken_;
    });
    rd_kafka_conf_set_dr_msg_cb(made.get(), [](rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) return;
        committer& owner = *static_cast<committer*>(static_cast<client_base*>(self));
        ++owner.failed_;
        owner.failed_topics_.emplace(rd_kafka_topic_name(message->rkt), message->err);
    });
    producer_ = made.make(RD_KAFKA_PRODUCER);
    is_initialized_ = false;
}

void committer::drop_producer() noexcept {
    if (producer_ == nullptr) return;
    rd_kafka_purge(producer_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    producer_.reset();
}

call_result committer::renew() {
    try {
        if (is_initialized_ || producer_ == nullptr) {
            drop_producer(); // the old one must be gone before the new one begins
            make_producer();
        }
        if (!is_transactional()) {
            is_initialized_ = true;
            return {};
        }
        rd_kafka_poll(producer_.get(), 0);
        call_result result =
            failed("init_transactions",
                   rd_kafka_init_transactions(producer_.get(), static_cast<int>(limit_.count())));
        if (result.what == outcome::succeeded || result.what == outcome::fatal) is_initialized_ = true;
        return result;
    } catch (const std::exception& e) {
        return {.what = outcome::fatal, .error = e.what()};
    }
}

call_result committer::failed(std::string_view what, rd_kafka_error_t* reported) {
    const error_handle owner(reported);
    if (reported == nullptr) return {};
    const error made = make_error(what, *reported);
    if (made.code() == RD_KAFKA_RESP_ERR__TIMED_OUT) in_doubt_ = true;
    return {.what = outcome_of(made.kind()), .error = made.what()};
}

/// Returns whether the brokers say that no record for the topic can be stored. librdkafka only says that the
/// time of the record is over, because the topic could still be created.
bool committer::is_topic_refused(const std::string& topic) const {
    const topic_handle handle(rd_kafka_topic_new(producer_.get(), topic.c_str(), nullptr));
    const rd_kafka_metadata_t* found = nullptr;
    if (rd_kafka_metadata(producer_.get(), 0, handle.get(), &found, most_metadata_ms)
        != RD_KAFKA_RESP_ERR_NO_ERROR)
        return false;
    const std::unique_ptr<const rd_kafka_metadata_t, destroyed_by<rd_kafka_metadata_destroy>> owner(found);
    if (found->topic_cnt != 1) return false;
    switch (found->topics[0].err) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
        return true;
    default:
        return false;
    }
}

int committer::left_until(sys::clock::time_point limit) const noexcept {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - sys::clock::now());
    return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 1, limit_.count()));
}

call_result committer::commit(commit_batch& batch) {
    step_ = step::begin;
    sent_ = 0;
    in_doubt_ = false;
    failed_topics_.clear();
    rd_kafka_poll(producer_.get(), 0); // counts connections that broke before this batch
    unbroken_ = broken_;
    return advance(batch);
}

call_result committer::repeat(commit_batch& batch) {
    return step_ == step::abort ? abort(batch) : advance(batch);
}

call_result committer::advance(commit_batch& batch) {
    try {
        return ended(batch, is_transactional() ? advance_transaction(batch) : send_outputs(batch));
    } catch (const std::exception& e) { // no memory
        return {.what = is_transactional() ? outcome::abortable : outcome::retriable, .error = e.what()};
    }
}

call_result committer::ended(const commit_batch& batch, call_result result) {
    // The brokers abort a transaction that is too old, and refuse its producer like a producer that another
    // worker has fenced. Then a new producer may continue.
    if (result.what == outcome::fenced && sys::clock::now() >= batch.give_up) result.what = outcome::fatal;
    rd_kafka_poll(producer_.get(), 0); // calls the callback for broken connections
    if (result.what != outcome::succeeded) {
        for (const auto& [topic, why] : failed_topics_) {
            result.error += "; output to " + topic + ": " + rd_kafka_err2name(why);
            if (result.refused_topic.empty() && is_topic_refused(topic)) result.refused_topic = topic;
        }
        failed_topics_.clear();
        if (!is_transactional() && !result.refused_topic.empty())
            result.what = outcome::abortable; // not repeated
    }
    // librdkafka may have sent the end of the transaction twice. A delayed copy could end a later
    // transaction, unless that one has a new epoch.
    result.wants_new_producer = is_transactional() && (in_doubt_ || broken_ != unbroken_);
    return result;
}

call_result committer::advance_transaction(commit_batch& batch) {
    const call_result is_void{.what = outcome::abortable, .error = "a partition of the transaction is lost"};
    call_result result;
    if (step_ == step::begin) {
        if (batch.is_void.load(sys::relaxed)) return is_void;
        result = failed("begin_transaction", rd_kafka_begin_transaction(producer_.get()));
        if (result.what != outcome::succeeded) return result;
        step_ = step::outputs;
    }
    if (step_ == step::outputs) {
        result = send_outputs(batch);
        if (result.what != outcome::succeeded) return result;
        step_ = step::offsets;
    }
    if (step_ == step::offsets) {
        if (batch.is_void.load(sys::relaxed)) return is_void;
        const list_handle offsets = offsets_of(batch);
        result = failed("send_offsets_to_transaction",
                        rd_kafka_send_offsets_to_transaction(
                            producer_.get(), offsets.get(),
                            static_cast<const rd_kafka_consumer_group_metadata_t*>(batch.group.get()),
                            left_until(batch.give_up)));
        if (result.what != outcome::succeeded) return result;
        step_ = step::finish;
    }
    if (batch.is_void.load(sys::relaxed)) return is_void;
    return failed("commit_transaction", rd_kafka_commit_transaction(producer_.get(), -1));
}

call_result committer::abort(commit_batch& batch) {
    const bool has_begun = step_ != step::begin;
    step_ = step::abort;
    if (!is_transactional() || !has_begun) return {};
    return ended(batch, failed("abort_transaction", rd_kafka_abort_transaction(producer_.get(), -1)));
}

rd_kafka_resp_err_t committer::produce(const records::outgoing& output, bool has_key) {
    const auto key = has_key ? std::optional<std::string_view>(output.key) : std::nullopt;
    std::vector<rd_kafka_vu_t> parts = parts_of(key, output.value, output.with);
    parts.push_back({.vtype = RD_KAFKA_VTYPE_TOPIC, .u = {.cstr = output.topic.c_str()}});
    const error_handle reported(rd_kafka_produceva(producer_.get(), parts.data(), parts.size()));
    return reported == nullptr ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_error_code(reported.get());
}

/// Returns what can be done after an output was refused.
outcome committer::outcome_of_outputs() const noexcept {
    const rd_kafka_resp_err_t cause = rd_kafka_fatal_error(producer_.get(), nullptr, 0);
    if (cause != RD_KAFKA_RESP_ERR_NO_ERROR)
        return kind_of(cause) == error_kind::fenced ? outcome::fenced : outcome::fatal;
    return is_transactional() ? outcome::abortable : outcome::retriable;
}

/// Sends the outputs that were not sent yet. Without transactions, also waits for them and commits the
/// offsets.
call_result committer::send_outputs(commit_batch& batch) {
    // Outputs that are sent at the limit would only be purged again.
    if (step_ != step::offsets && !is_transactional() && sent_ == 0 && sys::clock::now() >= batch.give_up)
        return {.what = outcome::retriable, .error = "outputs were not delivered in time"};
    std::size_t at = 0;
    for (const commit_part& part : batch.parts) {
        for (const held_record* const r : part.carried) {
            // A record without a key cannot be parked. So the dead letter is its only output.
            const bool has_key = r->has_key || !r->is_dead_letter;
            for (const records::outgoing& output : r->outputs) {
                if (at++ < sent_) continue;
                rd_kafka_resp_err_t refused = produce(output, has_key);
                while (refused == RD_KAFKA_RESP_ERR__QUEUE_FULL && sys::clock::now() < batch.give_up) {
                    rd_kafka_poll(producer_.get(), 20); // frees what is delivered
                    refused = produce(output, has_key);
                }
                if (refused != RD_KAFKA_RESP_ERR_NO_ERROR) {
                    const error made = make_error("output to " + output.topic, refused);
                    failed_topics_.emplace(output.topic, refused);
                    return {.what = outcome_of_outputs(), .error = made.what()};
                }
                sent_ = at;
            }
        }
    }
    if (is_transactional()) return {};
    call_result result = await_outputs(batch);
    if (result.what != outcome::succeeded) return result;
    step_ = step::offsets;
    result = commit_offsets(batch);
    result.outputs_sent = true;
    return result;
}

call_result committer::await_outputs(const commit_batch& batch) {
    if (step_ == step::offsets || sent_ == 0) return {};
    const rd_kafka_resp_err_t flushed = rd_kafka_flush(producer_.get(), left_until(batch.give_up));
    if (flushed == RD_KAFKA_RESP_ERR_NO_ERROR && failed_ == 0) return {};
    rd_kafka_purge(producer_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_flush(producer_.get(), left_until(batch.give_up));
    sent_ = 0; // all outputs of the batch are sent again, in their order
    failed_ = 0;
    return {.what = outcome_of_outputs(), .error = "outputs were not delivered"};
}

list_handle committer::offsets_of(const commit_batch& batch) const {
    list_handle list(rd_kafka_topic_partition_list_new(static_cast<int>(batch.parts.size())));
    for (const commit_part& part : batch.parts) {
        rd_kafka_topic_partition_t* const one =
            rd_kafka_topic_partition_list_add(list.get(), topic_.c_str(), part.partition);
        one->offset = part.offset;
        if (part.metadata.empty()) continue;
        one->metadata = rd_kafka_mem_malloc(nullptr, part.metadata.size());
        one->metadata_size = part.metadata.size();
        std::memcpy(one->metadata, part.metadata.data(), part.metadata.size());
    }
    return list;
}

call_result committer::commit_offsets(const commit_batch& batch) {
    if (batch.is_void.load(sys::relaxed)) return {.what = outcome::abortable, .error = "a partition is lost"};
    const list_handle offsets = offsets_of(batch);
    rd_kafka_resp_err_t code = rd_kafka_commit(consumer_, offsets.get(), 0);
    for (int i = 0; i < offsets->cnt && code == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) code = offsets->elems[i].err;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    const error made = make_error("commit of offsets", code);
    hopeless_ = made.kind() == error_kind::fatal || code == RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE;
    return {.what = outcome_of(made.kind()), .error = made.what()};
}

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
