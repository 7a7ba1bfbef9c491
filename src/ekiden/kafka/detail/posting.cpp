#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/kafka/detail/posting.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/start_thread.hpp>

#include <algorithm>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::kafka {
namespace detail {
namespace {

constexpr fixed_setting fixed_for_posters[] = {
    {"enable.idempotence", "true"},
    {"acks", "all"},
    {"request.required.acks", "all"},
    {"retries", "no limit"},
    {"message.send.max.retries", "no limit"},
    {"partitioner", "murmur2_random"},
    {"message.timeout.ms", "poster_options::give_up_after"},
    {"delivery.timeout.ms", "poster_options::give_up_after"},
    {"queue.buffering.max.messages", "poster_options::capacity"},
    {"queue.buffering.max.kbytes", "poster_options::capacity_bytes"},
    {"transactional.id", "no value"},
    {"delivery.report.only.error", "false"},
};

void check(const poster_options& chosen) {
    const auto refuse = [](std::string_view name, auto value, std::string_view allowed) {
        sys::refuse_argument("kafka::poster", name, value, allowed);
    };
    if (!is_topic_name(chosen.topic)) refuse("topic", '"' + chosen.topic + '"', topic_names);
    if (chosen.capacity == 0) refuse("capacity", chosen.capacity, "at least 1");
    if (chosen.capacity_bytes == 0) refuse("capacity_bytes", chosen.capacity_bytes, "at least 1");
    if (chosen.policy != when_full::block && chosen.policy != when_full::reject)
        refuse("policy", static_cast<unsigned>(chosen.policy), "block or reject");
    constexpr std::chrono::milliseconds most{900'000}; // the limit of librdkafka is larger
    if (chosen.give_up_after.count() < 1 || chosen.give_up_after > most)
        refuse("give_up_after", std::to_string(chosen.give_up_after.count()) + " ms", "1 to 900000 ms");
}

/// The poster whose events the current thread serves.
struct serving {
    const posting* now;
};

} // namespace

struct posting::record {
    std::size_t bytes;
    std::optional<promise<position>> promised;
};

posting::posting(const settings& where, const poster_options& chosen)
    : client_base(where), chosen_((check(chosen), chosen)), room_(chosen.capacity, chosen.capacity_bytes) {
    configuration made(configured, fixed_for_posters);
    made.set("enable.idempotence", "true");
    made.set("message.timeout.ms", std::to_string(chosen.give_up_after.count()));
    made.set("queue.buffering.max.messages", "10000000"); // room_ has the limits
    made.set("queue.buffering.max.kbytes", "2147483647");
    made.set_default("topic.metadata.refresh.interval.ms", "10000"); // finds new partitions soon
    rd_kafka_conf_set_events(made.get(), RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR);
    rd_kafka_conf_set_opaque(made.get(), static_cast<client_base*>(this));
    client_ = made.make(RD_KAFKA_PRODUCER);
    rd_kafka_topic_conf_t* const chosen_topic = rd_kafka_default_topic_conf_dup(client_.get());
    rd_kafka_topic_conf_set_partitioner_cb(chosen_topic, &posting::choose);
    rd_kafka_topic_conf_set_opaque(chosen_topic, this);
    topic_.reset(rd_kafka_topic_new(client_.get(), chosen.topic.c_str(), chosen_topic));
    if (topic_ == nullptr) throw make_error("topic " + chosen.topic, rd_kafka_last_error());
    queue_.reset(rd_kafka_queue_get_main(client_.get()));
}

void posting::start(const std::shared_ptr<posting>& self) {
    self->thread_ = sys::start_thread("kafka::poster", "its thread", [self] {
        sys::set_thread_name("ekiden-poster");
        self->serve();
    });
}

std::int32_t posting::choose(const rd_kafka_topic_t*, const void* key, std::size_t size, std::int32_t count,
                             void* self, void*) noexcept {
    return static_cast<posting*>(self)->partition_of(key, size, count);
}

std::int32_t posting::partition_of(const void* key, std::size_t size, std::int32_t count) noexcept {
    std::int32_t used = 0;
    if (partitions_.compare_exchange_strong(used, count, sys::relaxed, sys::relaxed)) used = count;
    if (used != count) {
        grown_.store(true, sys::relaxed);
        if (chosen_.allow_growth) partitions_.store(used = count, sys::relaxed);
    }
    return rd_kafka_msg_partitioner_murmur2_random(topic_.get(), key, size, used, nullptr, nullptr);
}

bool posting::is_serving_here() const noexcept { return sys::local<serving>().now == this; }

room::answer posting::enter(std::size_t bytes) {
    if (is_serving_here()) return room_.enter_beyond(bytes); // only this thread makes room
    return chosen_.policy == when_full::block ? room_.enter(bytes) : room_.try_enter(bytes);
}

bool posting::send(std::string_view key, std::optional<std::string_view> value, const headers& with,
                   std::optional<promise<position>>& promised) {
    std::size_t bytes = key.size() + (value ? value->size() : 0);
    for (const header& one : with) {
        bytes += one.name.size() + one.value.size();
        if (one.name.find('\0') != one.name.npos)
            sys::refuse_argument("kafka::poster", "with", "a name with a zero byte",
                                 "names without zero bytes");
    }
    const bool has_changed = grown_.load(sys::relaxed) && !chosen_.allow_growth;
    std::unique_ptr<record> added(new record{bytes, std::nullopt});
    if (failed_.load(sys::acquire) || has_changed || enter(bytes) != room::answer::entered) {
        refused_.fetch_add(1, sys::relaxed);
        return false;
    }
    try {
        return produce(std::move(added), key, value, with, promised);
    } catch (...) {
        room_.leave(bytes);
        refused_.fetch_add(1, sys::relaxed);
        throw;
    }
}

bool posting::produce(std::unique_ptr<record> added, std::string_view key,
                      std::optional<std::string_view> value, const headers& with,
                      std::optional<promise<position>>& promised) {
    std::vector<rd_kafka_vu_t> parts = parts_of(key, value, with);
    parts.push_back({.vtype = RD_KAFKA_VTYPE_RKT, .u = {.rkt = topic_.get()}});
    parts.push_back({.vtype = RD_KAFKA_VTYPE_OPAQUE, .u = {.ptr = added.get()}});
    const std::size_t bytes = added->bytes;
    std::swap(added->promised, promised); // the report may come before this call returns
    accepted_.fetch_add(1, sys::relaxed);
    const error_handle refused(rd_kafka_produceva(client_.get(), parts.data(), parts.size()));
    if (refused == nullptr) {
        static_cast<void>(added.release()); // complete() owns the record now
        return true;
    }
    accepted_.fetch_sub(1, sys::relaxed);
    std::swap(added->promised, promised);
    if (rd_kafka_error_code(refused.get()) == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
        sys::refuse_argument("kafka::poster", "value", std::to_string(bytes) + " bytes with key and headers",
                             "up to the setting message.max.bytes");
    const error reason = make_error("post to " + chosen_.topic, rd_kafka_error_code(refused.get()));
    note(reason.what());
    if (promised) std::exchange(promised, std::nullopt)->set_exception(std::make_exception_ptr(reason));
    room_.leave(bytes);
    refused_.fetch_add(1, sys::relaxed);
    return false;
}

std::exception_ptr posting::refusal() const {
    {
        const std::lock_guard inside(lock_);
        if (fatal_) return std::make_exception_ptr(*fatal_);
    }
    if (grown_.load(sys::relaxed) && !chosen_.allow_growth)
        return std::make_exception_ptr(
            make_error("post to " + chosen_.topic, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
                       "the number of partitions has changed, so the order of keys would break"));
    return std::make_exception_ptr(operation_canceled("kafka::poster has refused the record"));
}

void posting::serve() {
    sys::local<serving>().now = this;
    while (!ending_.load(sys::acquire) || !room_.is_empty()) {
        const event_handle event(rd_kafka_queue_poll(queue_.get(), 100));
        if (event == nullptr) continue;
        switch (rd_kafka_event_type(event.get())) {
        case RD_KAFKA_EVENT_DR:
            report(*event);
            break;
        case RD_KAFKA_EVENT_ERROR:
            note_error(*event);
            break;
        default:
            break;
        }
    }
    sys::local<serving>().now = nullptr;
}

void posting::report(rd_kafka_event_t& event) {
    while (const rd_kafka_message_t* const message = rd_kafka_event_message_next(&event)) complete(*message);
}

void posting::complete(const rd_kafka_message_t& message) noexcept {
    const std::unique_ptr<record> sent(static_cast<record*>(message._private));
    if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        delivered_.fetch_add(1, sys::relaxed);
        if (sent->promised) {
            try {
                sent->promised->set_value(position{chosen_.topic, message.partition, message.offset});
            } catch (...) { // no memory
                sent->promised->set_exception(std::current_exception());
            }
        }
    } else {
        const bool is_in_doubt = rd_kafka_message_status(&message) != RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
        auto [failure, text] = [&] {
            const error made = make_error("delivery to " + chosen_.topic, message.err, {}, is_in_doubt);
            return std::pair(std::make_exception_ptr(made), std::string(made.what()));
        }();
        undelivered_.fetch_add(1, sys::relaxed);
        if (is_in_doubt) in_doubt_.fetch_add(1, sys::relaxed);
        note(text);
        if (sent->promised) sent->promised->set_exception(std::move(failure));
    }
    room_.leave(sent->bytes);
}

void posting::note_error(rd_kafka_event_t& event) {
    const rd_kafka_resp_err_t code = rd_kafka_event_error(&event);
    const char* const text = rd_kafka_event_error_string(&event);
    if (rd_kafka_event_error_is_fatal(&event) == 0) {
        note(make_error("poster of " + chosen_.topic, code, text).what());
        return;
    }
    char reason[512];
    const rd_kafka_resp_err_t cause = rd_kafka_fatal_error(client_.get(), reason, sizeof reason);
    const error_kind kind = kind_of(cause) == error_kind::fenced ? error_kind::fenced : error_kind::fatal;
    const error made = make_error("poster of " + chosen_.topic, cause, reason);
    note(made.what());
    {
        const std::lock_guard inside(lock_);
        if (!fatal_) fatal_.emplace(made.what(), kind, cause);
    }
    failed_.store(true, sys::release);
    purge(); // reports what can no longer be delivered
}

void posting::note(std::string text) {
    const std::lock_guard inside(lock_);
    last_error_.swap(text);
}

void posting::purge() noexcept {
    rd_kafka_purge(client_.get(),
                   RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
}

bool posting::flush(const wait_limit& limit) const {
    if (is_serving_here())
        throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                                "ekiden: kafka::poster: flush in the thread of the poster");
    return room_.wait_empty(limit);
}

bool posting::close(const wait_limit& limit) {
    room_.close();
    if (is_serving_here()) {
        const bool is_empty = room_.is_empty();
        purge();
        return is_empty;
    }
    if (room_.wait_empty(limit)) return true;
    do purge(); // again, because a post may have been on its way
    while (!room_.wait_empty(wait_limit::after(std::chrono::milliseconds(20))));
    return false;
}

void posting::finish() noexcept {
    if (generation_ != sys::fork_generation()) return; // The thread, which owns the state, is not here.
    room_.close();
    if (is_serving_here()) {
        ending_.store(true, sys::release);
        thread_.detach(); // the thread ends after the last report, and frees the state
        return;
    }
    static_cast<void>(room_.wait_empty(wait_limit()));
    ending_.store(true, sys::release);
    rd_kafka_queue_yield(queue_.get());
    thread_.join();
}

poster_metrics posting::metrics() const {
    poster_metrics now;
    const room::usage used = room_.used();
    now.accepted = accepted_.load(sys::relaxed);
    now.delivered = delivered_.load(sys::relaxed);
    now.failed = undelivered_.load(sys::relaxed);
    now.in_doubt = in_doubt_.load(sys::relaxed);
    now.refused = refused_.load(sys::relaxed);
    now.waited = used.waits;
    now.pending = used.records;
    now.pending_bytes = used.bytes;
    now.partitions = partitions_.load(sys::relaxed);
    now.has_grown = grown_.load(sys::relaxed);
    const std::lock_guard inside(lock_);
    now.last_error = last_error_;
    return now;
}

} // namespace detail

poster::poster(const settings& where, const poster_options& chosen)
    : state_(std::make_shared<detail::posting>(where, chosen)) {
    detail::posting::start(state_);
}
poster::~poster() { state_->finish(); }

bool poster::post(std::string_view key, std::optional<std::string_view> value, const headers& with) const {
    std::optional<promise<position>> none;
    return state_->send(key, value, with, none);
}

future<position> poster::submit(std::string_view key, std::optional<std::string_view> value,
                                const headers& with) const {
    std::optional<promise<position>> promised(std::in_place);
    future<position> result = promised->get_future();
    if (!state_->send(key, value, with, promised) && promised) promised->set_exception(state_->refusal());
    return result;
}

bool poster::flush(const wait_limit& limit) const { return state_->flush(limit); }
bool poster::close(const wait_limit& limit) { return state_->close(limit); }
poster_metrics poster::metrics() const { return state_->metrics(); }

} // namespace ekiden::inline EKIDEN_ABI::kafka
