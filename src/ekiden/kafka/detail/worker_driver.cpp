#include <ekiden/kafka/detail/worker_driver.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/sys/bad_argument.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <stdexcept>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_sleep{100};
constexpr milliseconds leave_limit{10'000};
constexpr std::size_t most_fetched = 500;

core_options to_core(const worker_options& chosen) {
    core_options of;
    of.topic = chosen.topic;
    of.id = chosen.group + '.' + chosen.name;
    of.is_transactional = chosen.mode == delivery::exactly_once;
    of.limits = {.window = chosen.window, .held = chosen.held, .held_bytes = chosen.held_bytes};
    of.commit_every = chosen.commit_every;
    of.revoke_limit = chosen.revoke_limit;
    of.transaction_limit = chosen.transaction_limit;
    of.retry = chosen.retry;
    of.commits_in_rebalance = rd_kafka_version() >= 0x020a0000; // fixed in 2.10
    return of;
}

/// Returns the generation of a group for diagnosis, or 0. librdkafka only has it in the serialized metadata.
std::int32_t generation_of(const rd_kafka_consumer_group_metadata_t* group) noexcept {
    void* bytes = nullptr;
    std::size_t size = 0;
    std::int32_t generation = 0;
    constexpr std::string_view magic = "CGMDv2:";
    const error_handle failed(rd_kafka_consumer_group_metadata_write(group, &bytes, &size));
    if (failed != nullptr) return 0;
    if (size >= magic.size() + sizeof generation && std::memcmp(bytes, magic.data(), magic.size()) == 0)
        std::memcpy(&generation, static_cast<const char*>(bytes) + magic.size(), sizeof generation);
    rd_kafka_mem_free(nullptr, bytes);
    return generation;
}

} // namespace

worker_driver::worker_driver(const settings& where, const worker_options& chosen,
                             std::unique_ptr<record_starter> lanes)
    : client_base(where), chosen_((check(chosen), chosen)), core_options_(to_core(chosen)),
      lanes_(std::move(lanes)), consumer_(make_consumer()),
      group_queue_(rd_kafka_queue_get_consumer(consumer_.get())), core_(core_options_, *this),
      committer_(where, chosen, consumer_.get()) {
    rd_kafka_queue_cb_event_enable(
        group_queue_.get(), [](rd_kafka_t*, void* self) { static_cast<worker_driver*>(self)->wake(); }, this);
}

worker_driver::~worker_driver() {
    // No thread calls this object any more, and no record is in a lane.
    rd_kafka_queue_cb_event_enable(group_queue_.get(), nullptr, nullptr);
    for (const auto& [partition, one] : partitions_)
        rd_kafka_queue_cb_event_enable(one->queue.get(), nullptr, nullptr);
}

client_handle worker_driver::make_consumer() {
    configuration made(configured, fixed_for_workers());
    made.set("group.id", chosen_.group);
    if (!chosen_.name.empty()) made.set("client.id", chosen_.name);
    made.set("enable.auto.commit", "false");
    made.set("enable.auto.offset.store", "false");
    made.set("partition.assignment.strategy", "cooperative-sticky");
    made.set("isolation.level", "read_committed");
    made.set("auto.offset.reset", "earliest");
    made.set("enable.partition.eof", "true"); // tells that the end was reached, behind holes
    made.set("session.timeout.ms", std::to_string(chosen_.session.count()));
    made.set_default("heartbeat.interval.ms",
                     std::to_string(std::min<std::int64_t>(chosen_.session.count() / 3, 3'000)));
    made.set_default("max.poll.interval.ms",
                     std::to_string(std::max<std::int64_t>(chosen_.session.count(), 300'000)));
    made.set_default("topic.metadata.refresh.interval.ms", "10000");
    // Each partition has a queue of its own, and the default limit would hold for each of them.
    made.set_default("queued.max.messages.kbytes", "4096");
    most_bytes_ = made.most_bytes();
    rd_kafka_conf_set_rebalance_cb(made.get(), &worker_driver::rebalanced);
    rd_kafka_conf_set_opaque(made.get(), static_cast<client_base*>(this));
    client_handle consumer = made.make(RD_KAFKA_CONSUMER);
    rd_kafka_poll_set_consumer(consumer.get());
    return consumer;
}

void worker_driver::note(const std::string& text) const {
    constexpr int warning = 4; // of syslog(3)
    if (configured.log) configured.log(warning, "ekiden: kafka: worker " + core_options_.id + ": " + text);
}

// ---- answers of the other threads

void worker_driver::answer_later(std::function<void()> call) {
    {
        const std::lock_guard inside(lock_);
        answers_.push_back(std::move(call));
    }
    wake();
}

void worker_driver::answer() {
    std::vector<std::function<void()>> ready;
    {
        const std::lock_guard inside(lock_);
        ready.swap(answers_);
    }
    for (const auto& call : ready) call();
}

// ---- the calls of the core

/// After run() has left the group, an answer or a time that has come can still make the core ask for a call.
/// The call is dropped, because its thread has ended.
void worker_driver::add_to(std::optional<job_thread>& thread, std::function<void()> job) {
    if (thread) thread->add(std::move(job));
}

void worker_driver::start(std::span<held_record* const> ready) { lanes_->start(shared_from_this(), ready); }

void worker_driver::release(void* payload) noexcept {
    rd_kafka_message_destroy(static_cast<rd_kafka_message_t*>(payload));
}

void worker_driver::load(std::int32_t partition, std::uint64_t epoch) {
    add_to(loads_, [this, partition, epoch] {
        const auto fail = [&](const std::exception& why, outcome what) {
            answer_later([this, partition, epoch, what, text = std::string(why.what())] {
                note(text);
                core_.load_failed(partition, epoch, {.what = what, .error = text});
            });
        };
        try {
            check_partition_count();
            answer_later([this, answer = read_committed(partition, epoch)] { core_.loaded(answer); });
        } catch (const error& e) {
            fail(e, e.kind() == error_kind::fatal ? outcome::fatal : outcome::retriable);
        } catch (const std::exception& e) { // the system has refused memory or a thread
            fail(e, outcome::retriable);
        }
    });
}

void worker_driver::commit(commit_batch& batch) {
    add_to(commits_, [this, &batch] {
        const trace::span shown("kafka: commit");
        call_result result = committer_.commit(batch);
        answer_commit(batch, std::move(result));
    });
}

void worker_driver::repeat(commit_batch& batch) {
    add_to(commits_, [this, &batch] {
        const bool was_aborting = committer_.is_aborting();
        call_result result = committer_.repeat(batch);
        if (was_aborting)
            answer_abort(batch, std::move(result));
        else
            answer_commit(batch, std::move(result));
    });
}

void worker_driver::abort(commit_batch& batch) {
    add_to(commits_, [this, &batch] { answer_abort(batch, committer_.abort(batch)); });
}

void worker_driver::answer_commit(const commit_batch& batch, call_result result) {
    const bool is_hopeless = committer_.is_hopeless();
    if (result.what == outcome::succeeded)
        for (const commit_part& part : batch.parts)
            trace::mark("kafka: committed below", static_cast<std::uint32_t>(part.offset));
    answer_later([this, number = batch.number, is_hopeless, result = std::move(result)] {
        if (result.what != outcome::succeeded) note(result.error);
        if (is_hopeless) core_.fail(result.error);
        core_.commit_ended(number, result);
    });
}

void worker_driver::answer_abort(const commit_batch& batch, call_result result) {
    answer_later([this, number = batch.number, result = std::move(result)] {
        if (result.what != outcome::succeeded) note(result.error);
        core_.abort_ended(number, result);
    });
}

void worker_driver::renew_producer() {
    add_to(commits_, [this] {
        answer_later([this, result = committer_.renew()] {
            if (result.what != outcome::succeeded) note(result.error);
            core_.producer_ready(result);
        });
    });
}

void worker_driver::unassign(std::span<const std::int32_t> partitions) {
    const list_handle list = list_of(partitions);
    const error_handle failed(rd_kafka_incremental_unassign(consumer_.get(), list.get()));
    if (failed != nullptr) note(make_error("unassign", *failed).what());
    for (const std::int32_t partition : partitions) {
        const auto at = partitions_.find(partition);
        if (at == partitions_.end()) continue;
        rd_kafka_queue_cb_event_enable(at->second->queue.get(), nullptr, nullptr);
        partitions_.erase(at);
    }
}

list_handle worker_driver::list_of(std::span<const std::int32_t> partitions) const {
    list_handle list(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
    for (const std::int32_t partition : partitions)
        rd_kafka_topic_partition_list_add(list.get(), chosen_.topic.c_str(), partition);
    return list;
}

// ---- the group

void worker_driver::rebalanced(rd_kafka_t*, rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* list,
                               void* self) noexcept {
    static_cast<worker_driver*>(static_cast<client_base*>(self))->rebalance(what, *list);
}

void worker_driver::rebalance(rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t& list) {
    std::vector<std::int32_t> partitions;
    for (int i = 0; i < list.cnt; ++i) partitions.push_back(list.elems[i].partition);
    // The generation of the callback is in force already, also in a revocation.
    auto* const group = rd_kafka_consumer_group_metadata(consumer_.get());
    const std::int32_t generation = group == nullptr ? 0 : generation_of(group);
    group_token token(group, [](const void* of) {
        if (of == nullptr) return;
        rd_kafka_consumer_group_metadata_destroy(
            static_cast<rd_kafka_consumer_group_metadata_t*>(const_cast<void*>(of)));
    });
    switch (what) {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
        assign(list, partitions);
        core_.assigned(std::move(token), generation, partitions);
        break;
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
        if (is_leaving_ || core_.failure() || rd_kafka_assignment_lost(consumer_.get()) != 0)
            core_.lost(partitions);
        else
            core_.revoked(std::move(token), generation, partitions);
        break;
    default:
        note(make_error("rebalance", what).what());
        core_.lost(partitions);
        rd_kafka_assign(consumer_.get(), nullptr);
        break;
    }
}

void worker_driver::assign(rd_kafka_topic_partition_list_t& list, std::span<const std::int32_t> partitions) {
    for (const std::int32_t partition : partitions) {
        auto added = std::make_unique<fetched_partition>(
            this,
            queue_handle(rd_kafka_queue_get_partition(consumer_.get(), chosen_.topic.c_str(), partition)));
        rd_kafka_queue_forward(added->queue.get(), nullptr); // not into the queue of the consumer
        rd_kafka_queue_cb_event_enable(
            added->queue.get(),
            [](rd_kafka_t*, void* self) {
                auto* const one = static_cast<fetched_partition*>(self);
                // Ordered by the lock of the queue: a record that fetch_from() has not read was added later,
                // so this store comes after the store of false there.
                one->has_news.store(true, sys::release);
                one->owner->wake();
            },
            added.get());
        partitions_[partition] = std::move(added);
    }
    const error_handle failed(rd_kafka_incremental_assign(consumer_.get(), &list));
    if (failed != nullptr) note(make_error("assign", *failed).what());
}

void worker_driver::serve_group(int limit_ms) {
    while (rd_kafka_message_t* const message = rd_kafka_consumer_poll(consumer_.get(), limit_ms)) {
        const std::unique_ptr<rd_kafka_message_t, destroyed_by<rd_kafka_message_destroy>> owner(message);
        limit_ms = 0;
        const error made =
            make_error("group " + chosen_.group, message->err, rd_kafka_message_errstr(message));
        note(made.what());
        switch (message->err) {
        case RD_KAFKA_RESP_ERR__FATAL:
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
        case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
        case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
        case RD_KAFKA_RESP_ERR_INVALID_GROUP_ID:
            core_.fail(made.what());
            break;
        default:
            break;
        }
    }
}

// ---- records

void worker_driver::fetch() {
    for (const auto& [partition, from] : partitions_)
        if (from->has_news.load(sys::acquire)) fetch_from(partition, *from);
}

/// Returns whether fetch() would read records.
bool worker_driver::can_fetch() const {
    return std::ranges::any_of(partitions_, [this](const auto& one) {
        return one.second->has_news.load(sys::acquire) && core_.room(one.first) > 0;
    });
}

/// Passes records of a partition to the core.
void worker_driver::fetch_from(std::int32_t partition, fetched_partition& from) {
    const std::size_t room = std::min(core_.room(partition), most_fetched);
    if (room == 0) return;
    from.has_news.store(false, sys::relaxed); // before the queue is read
    messages_.resize(room);
    const ssize_t count = rd_kafka_consume_batch_queue(from.queue.get(), 0, messages_.data(), room);
    fetched_.clear();
    const auto deliver = [&] {
        if (!fetched_.empty()) core_.arrived(partition, fetched_);
        fetched_.clear();
    };
    for (ssize_t i = 0; i < count; ++i) {
        rd_kafka_message_t& one = *messages_[static_cast<std::size_t>(i)];
        if (one.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            from.has_gone_back = from.has_gone_back || one.offset < from.next;
            from.next = std::max(from.next, one.offset + 1);
            fetched_.push_back(to_fetched(one));
            continue;
        }
        deliver();
        if (one.err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
            core_.passed(partition, one.offset);
        else
            note(make_error("partition " + std::to_string(partition), one.err, rd_kafka_message_errstr(&one))
                     .what());
        rd_kafka_message_destroy(&one);
    }
    deliver();
    if (count > 0) from.has_news.store(true, sys::relaxed); // until the queue was found empty
}

/// librdkafka before 2.4 can deliver a record again. The log tells whether this is the reason for an older
/// record.
void worker_driver::check_log_later(std::int32_t partition, std::int64_t position) {
    add_to(loads_, [this, partition, position] {
        try {
            check_log(partition, position);
        } catch (const error& e) {
            answer_later([this, partition, e] {
                note(e.what());
                if (e.kind() == error_kind::fatal) return core_.fail(e.what());
                const auto at = partitions_.find(partition);
                if (at != partitions_.end()) at->second->has_gone_back = true; // is checked again
            });
        }
    });
}

void worker_driver::read_log_ends(sys::clock::time_point now) {
    if (now < next_log_ends_) return;
    next_log_ends_ = now + milliseconds(200);
    for (const auto& [partition, one] : partitions_) {
        one->has_news.store(true, sys::relaxed);
        if (std::exchange(one->has_gone_back, false)) check_log_later(partition, one->next);
        std::int64_t low = 0;
        std::int64_t high = -1;
        if (rd_kafka_get_watermark_offsets(consumer_.get(), chosen_.topic.c_str(), partition, &low, &high)
                == RD_KAFKA_RESP_ERR_NO_ERROR
            && high >= 0)
            core_.log_end(partition, high);
    }
}

// ---- the loop

/// Returns false if the worker has ended.
bool worker_driver::serve_once() {
    wake_.reset(); // before anything is read
    answer();
    std::optional<sys::clock::time_point> limit;
    {
        const std::lock_guard inside(lock_);
        limit = close_requested_;
    }
    if (limit && !is_closing_) {
        is_closing_ = true;
        core_.close(*limit);
    }
    if (is_abandoned_.load(sys::acquire))
        core_.fail("the executor has dropped a record, because its context accepts no more tasks");
    serve_group(0);
    if (!is_closing_) fetch();
    const auto now = sys::clock::now();
    read_log_ends(now);
    const auto next = core_.tick(now);
    if (core_.failure() || (is_closing_ && core_.is_closed())) return false;
    // The tick may have made room for records that have arrived before. No thread would wake this one for
    // them.
    if (is_closing_ || !can_fetch())
        static_cast<void>(wake_.wait(wait_limit::until(std::min(next, now + longest_sleep))));
    return true;
}

void worker_driver::run(std::stop_token stop) {
    {
        const std::lock_guard inside(lock_);
        if (has_run_) throw std::logic_error("ekiden: kafka::worker: run() was called before");
        has_run_ = true;
        if (close_requested_) return;
        is_clean_ = false;
        left_.reset();
    }
    struct at_end {
        worker_driver& self;
        ~at_end() { self.left_.set(); }
    } const sets_left{*this};
    commits_.emplace("ekiden-commit");
    loads_.emplace("ekiden-load");
    const std::stop_callback on_stop(stop, [this] { request_close(wait_limit()); });
    core_.start();
    const list_handle topics(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(topics.get(), chosen_.topic.c_str(), RD_KAFKA_PARTITION_UA);
    expect_success("subscribe to " + chosen_.topic, rd_kafka_subscribe(consumer_.get(), topics.get()));
    while (serve_once()) {
    }
    leave();
}

/// Leaves the group. The partitions that are still assigned are given up.
void worker_driver::leave() {
    const bool was_clean = core_.has_closed_cleanly();
    is_leaving_ = true;
    bool has_left = true;
    const queue_handle last(rd_kafka_queue_new(consumer_.get()));
    const error_handle failed(rd_kafka_consumer_close_queue(consumer_.get(), last.get()));
    if (failed != nullptr) note(make_error("close", *failed).what());
    const auto limit = sys::clock::now() + leave_limit;
    while (failed == nullptr && rd_kafka_consumer_closed(consumer_.get()) == 0 && has_left) {
        const event_handle event(rd_kafka_queue_poll(last.get(), 20));
        if (event != nullptr && rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_REBALANCE)
            rebalance(rd_kafka_event_error(event.get()), *rd_kafka_event_topic_partition_list(event.get()));
        answer();
        core_.tick(sys::clock::now());
        has_left = sys::clock::now() < limit;
    }
    std::vector<std::int32_t> rest;
    for (const auto& [partition, one] : partitions_) rest.push_back(partition);
    if (!rest.empty()) core_.lost(rest);
    commits_.reset(); // waits for the call that runs
    loads_.reset();
    answer();
    core_.tick(sys::clock::now());
    if (const auto& why = core_.failure()) {
        const bool is_fenced = core_.metrics().fenced != 0;
        throw error("ekiden: kafka: " + *why, is_fenced ? error_kind::fenced : error_kind::fatal,
                    is_fenced ? RD_KAFKA_RESP_ERR__FENCED : RD_KAFKA_RESP_ERR__FATAL);
    }
    const std::lock_guard inside(lock_);
    is_clean_ = was_clean && has_left;
}

void worker_driver::request_close(const wait_limit& limit) noexcept {
    {
        const std::lock_guard inside(lock_);
        if (!close_requested_)
            close_requested_ = limit.is_timed() ? limit.deadline() : sys::clock::now() + chosen_.revoke_limit;
    }
    wake();
}

bool worker_driver::close(const wait_limit& limit) {
    request_close(limit);
    if (!left_.wait(limit)) return false;
    const std::lock_guard inside(lock_);
    return is_clean_;
}

void worker_driver::end() noexcept {
    request_close(wait_limit());
    left_.wait();
    // run() has returned, so this thread may take the place of the polling thread.
    while (true) {
        wake_.reset();
        core_.tick(sys::clock::now());
        if (core_.in_lanes() == 0) return;
        static_cast<void>(wake_.wait_for(longest_sleep));
    }
}

std::shared_ptr<worker_driver> make_driver(const settings& where, const worker_options& chosen,
                                           std::unique_ptr<record_starter> lanes) {
    return std::make_shared<worker_driver>(where, chosen, std::move(lanes));
}
void run(worker_driver& driver, std::stop_token stop) { driver.run(std::move(stop)); }
bool close(worker_driver& driver, const wait_limit& limit) { return driver.close(limit); }
records::worker_metrics metrics(const worker_driver& driver) { return driver.metrics(); }
void destroy(std::shared_ptr<worker_driver> driver) noexcept {
    if (driver->is_in_forked_child()) { // The threads of the driver are not here, so it is never destroyed.
        static_cast<void>(new std::shared_ptr<worker_driver>(std::move(driver)));
        return;
    }
    driver->end();
    while (driver.use_count() != 1) sys::yield(); // A lane still returns from its last call.
}

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
