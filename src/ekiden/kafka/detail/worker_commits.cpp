// The commits of worker_core, its end, its lanes, and its metrics.
#include <ekiden/kafka/detail/worker_core.hpp>
#include <ekiden/records/detail/failed_record.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

namespace {

constexpr std::chrono::milliseconds show_every{100};
constexpr std::size_t most_error = 1'000; // bytes of a text in a header, see most_added in committer.cpp

} // namespace

// ---- commits

bool worker_core::is_in_batch(const partition_ledger& of) const noexcept {
    const commit_batch* const batch = cycle_.batch();
    return batch != nullptr
           && std::any_of(batch->parts.begin(), batch->parts.end(),
                          [&](const commit_part& p) { return p.epoch == of.epoch(); });
}

bool worker_core::is_in_commit(const partition_ledger& of) const noexcept {
    const bool has_calls =
        cycle_.now() == commit_cycle::state::committing || cycle_.now() == commit_cycle::state::aborting;
    return has_calls && is_in_batch(of);
}

/// Returns whether commits are allowed between a revocation and the next assign callback.
bool worker_core::may_commit_now() const noexcept {
    return options_.is_transactional || options_.commits_in_rebalance || !is_rebalancing_;
}

/// Returns whether a commit must not wait for the end of `commit_every`.
bool worker_core::is_commit_urgent() const {
    return std::any_of(ledgers_.begin(), ledgers_.end(), [&](const auto& entry) {
        const partition_ledger& ledger = *entry.second;
        if (ledger.state() == ledger_state::revoking)
            return ledger.has_news() && (!ledger.has_running() || !ledger.accepts_results());
        return ledger.uncommitted() * 2 >= options_.limits.held
               || (ledger.uncommitted() != 0 && ledger.held_bytes() >= options_.limits.held_bytes);
    });
}

void worker_core::start_commit() {
    if (!cycle_.is_ready() || !may_commit_now() || now_ < not_before_) return;
    if (now_ < next_commit_ && !is_commit_urgent()) return;
    auto batch = std::make_unique<commit_batch>();
    for (const auto& [partition, ledger] : ledgers_) {
        if (!ledger->has_news()) continue;
        batch->is_last = batch->is_last || ledger->state() == ledger_state::revoking;
        ledger->take(batch->parts.emplace_back());
    }
    next_commit_ = now_ + options_.commit_every;
    if (batch->parts.empty()) return;
    batch->number = ++last_batch_;
    batch->group = group_;
    cycle_.begin(std::move(batch), now_);
}

void worker_core::producer_ready(const call_result& result) {
    if (cycle_.producer_ready(result, now_) != batch_fate::unknown) return;
    for (const commit_part& part : cycle_.batch()->parts) {
        const partition_ledger* const ledger = find(part.partition);
        if (ledger != nullptr && ledger->epoch() == part.epoch && ledger->may_commit()) {
            asked_.push_back(part.epoch);
            link_.load(part.partition, part.epoch);
        }
    }
    end_doubt();
    release_all();
}

/// Uses the committed offset of a partition whose last transaction had an unknown outcome.
void worker_core::settle(partition_ledger& ledger, const loaded_offset& answer) {
    if (cycle_.now() != commit_cycle::state::asking || std::erase(asked_, ledger.epoch()) == 0) return;
    for (commit_part& part : cycle_.batch()->parts) {
        if (part.epoch != ledger.epoch()) continue;
        const bool is_known = ledger.settle(part, answer.offset, answer.metadata, released_);
        part.carried.clear();
        if (is_known) continue;
        ledger.drain(ledger_state::refused, released_);
        ledger.drop_results(released_);
    }
    end_doubt();
}

/// Ends the doubt when all partitions that are still ours know what has been committed.
void worker_core::end_doubt() {
    if (cycle_.now() != commit_cycle::state::asking) return;
    std::erase_if(asked_, [&](std::uint64_t epoch) {
        return std::none_of(ledgers_.begin(), ledgers_.end(), [&](const auto& entry) {
            return entry.second->epoch() == epoch && entry.second->may_commit();
        });
    });
    if (!asked_.empty()) return;
    const std::unique_ptr<commit_batch> ended = cycle_.finish();
    give_back(*ended, false); // the parts of partitions that are no longer ours
}

/// Returns the outputs of a batch to their ledgers. A ledger that may not commit drops them.
void worker_core::give_back(const commit_batch& batch, bool outputs_sent) {
    for (const commit_part& part : batch.parts) {
        if (partition_ledger* const ledger = find_epoch(part.epoch))
            ledger->returned(part, outputs_sent, released_);
    }
}

/// The brokers have refused the outputs for a topic. This counts as a failure of the functions that have sent
/// them. In the end, a dead letter takes the place of the outputs, because otherwise no commit would succeed.
void worker_core::refuse(const commit_batch& batch, const std::string& topic) {
    if (topic.empty() || options_.retry.then == records::on_failure::stop) return;
    for (const commit_part& part : batch.parts) {
        for (held_record* const r : part.carried) {
            const bool is_refused = std::any_of(r->outputs.begin(), r->outputs.end(),
                                                [&](const auto& one) { return one.topic == topic; });
            if (!is_refused || r->is_dead_letter || ++r->refusals < options_.retry.attempts) continue;
            r->error = "the brokers refuse records for the topic " + topic;
            make_dead_letter(*r);
            ++counters_.dead_letters;
        }
    }
}

void worker_core::apply(batch_fate fate) {
    if (fate == batch_fate::committed) {
        const std::unique_ptr<commit_batch> ended = cycle_.finish();
        ++counters_.commits;
        for (const commit_part& part : ended->parts) {
            if (partition_ledger* const ledger = find_epoch(part.epoch)) ledger->committed(part, released_);
        }
    } else if (fate == batch_fate::returned) {
        const bool outputs_sent = cycle_.has_sent_outputs() && !options_.is_transactional;
        const std::unique_ptr<commit_batch> ended = cycle_.finish();
        not_before_ = now_ + options_.call_back_off;
        refuse(*ended, cycle_.refused_topic());
        give_back(*ended, outputs_sent);
    }
    end_revocations();
    release_all();
}

void worker_core::commit_ended(std::uint64_t batch, const call_result& result) {
    apply(cycle_.commit_ended(batch, result, now_));
}

void worker_core::abort_ended(std::uint64_t batch, const call_result& result) {
    apply(cycle_.abort_ended(batch, result, now_));
}

// ---- the end

void worker_core::close(sys::clock::time_point limit) {
    is_closing_ = true;
    close_limit_ = limit;
    for (const auto& [partition, ledger] : ledgers_) revoke(*ledger);
    release_all();
}

bool worker_core::is_closed() const {
    return is_closing_ && std::all_of(ledgers_.begin(), ledgers_.end(), [&](const auto& entry) {
               return is_drained(*entry.second, close_limit_);
           });
}

bool worker_core::has_closed_cleanly() const {
    return is_closed() && !gave_up_running_ && !failure()
           && std::all_of(ledgers_.begin(), ledgers_.end(),
                          [](const auto& entry) { return entry.second->unsaved() == 0; });
}

std::size_t worker_core::in_lanes() const {
    std::size_t count = 0;
    for (const auto& [partition, ledger] : ledgers_) count += ledger->in_lanes();
    for (const auto& ledger : old_) count += ledger->in_lanes();
    return count;
}

const std::optional<std::string>& worker_core::failure() const noexcept { return cycle_.failure(); }

void worker_core::fail(const std::string& why) { cycle_.fail(why); }

// ---- the lanes

bool worker_core::begin(held_record& r) {
    // Relaxed is enough: the exchange only decides whether the record begins, see partition_ledger::drain().
    record_phase queued = record_phase::queued;
    if (!r.phase.compare_exchange_strong(queued, record_phase::running, sys::relaxed)) {
        hand_back(r, record_end::dropped);
        return false;
    }
    switch (r.ledger->keys.enter(r)) {
    case key_queues::entry::run:
        ++r.attempt;
        return true;
    case key_queues::entry::waits:
        return false; // The queue of the key owns the record now.
    case key_queues::entry::parked:
        r.error = "the key is parked";
        make_dead_letter(r);
        hand_back(r, record_end::done);
        return false;
    case key_queues::entry::closed:
        break;
    }
    hand_back(r, record_end::dropped);
    return false;
}

void worker_core::ended(held_record& r, records::reply&& outputs) {
    r.outputs = outputs.take();
    hand_back(r, record_end::done);
}

void worker_core::ended(held_record& r, std::string_view error) {
    r.error = error;
    const bool is_over = r.attempt >= options_.retry.attempts;
    if (is_over && options_.retry.then != records::on_failure::stop) {
        make_dead_letter(r);
        if (options_.retry.then == records::on_failure::park_key && r.has_key && r.ledger->keys.park(r.key))
            r.outputs.push_back({parked_topic(options_),
                                 parked_key(options_.topic, r.id.partition, r.key),
                                 std::to_string(r.id.offset),
                                 {}});
        return hand_back(r, record_end::done);
    }
    hand_back(r, r.ledger->keys.lead(r) ? record_end::failed : record_end::dropped);
}

void worker_core::abandoned(held_record& r) { hand_back(r, record_end::dropped); }

void worker_core::make_dead_letter(held_record& r) const {
    records::headers with = r.with;
    records::detail::add_origin(with, r.id, r.attempt, std::string_view(r.error).substr(0, most_error));
    with.push_back({"ekiden-timestamp", std::to_string(r.timestamp)});
    r.outputs.clear();
    r.outputs.push_back({options_.retry.dead_letters, std::string(r.key),
                         r.has_value ? std::optional<std::string>(r.value) : std::nullopt, std::move(with)});
    r.is_dead_letter = true;
}

void worker_core::hand_back(held_record& r, record_end how) {
    r.end = how;
    if (ended_.push(r)) link_.wake();
}

/// States after how many ended records the polling thread must be woken.
void worker_core::arm() {
    std::size_t wake_at = ended_list::never;
    for (const auto& [partition, ledger] : ledgers_) {
        std::size_t count = ended_list::never;
        if (!ledger->is_running() || ledger->keys.has_entries())
            count = 1;
        else if (ledger->room() == 0)
            count = std::clamp<std::size_t>(ledger->in_lanes() / 8, 1, 64);
        wake_at = std::min(wake_at, count);
    }
    if (!old_.empty()) wake_at = 1;
    if (ended_.arm(wake_at)) link_.wake();
}

sys::clock::time_point worker_core::next_time() const {
    sys::clock::time_point next = cycle_.next_time();
    for (const auto& [partition, due] : reloads_) next = std::min(next, due);
    for (const revocation& r : revocations_) {
        if (r.limit > now_)
            next = std::min(next, r.limit);
        else if (r.limit + options_.transaction_limit > now_)
            next = std::min(next, r.limit + options_.transaction_limit);
    }
    if (is_closing_ && close_limit_ > now_) next = std::min(next, close_limit_);
    bool has_work = false;
    for (const auto& [partition, ledger] : ledgers_) {
        next = std::min(next, ledger->next_retry());
        has_work = has_work || ledger->in_lanes() != 0 || ledger->has_news();
    }
    if (has_work && cycle_.is_ready() && may_commit_now())
        next = std::min(next, std::max({next_commit_, not_before_, now_ + std::chrono::milliseconds(1)}));
    return next;
}

// ---- metrics

void worker_core::publish() {
    const bool is_fresh = now_ < shown_at_ + show_every && shown_at_ != sys::clock::time_point{};
    if (is_fresh && !is_closing_ && !failure()) return;
    shown_at_ = now_;
    records::worker_metrics fresh = counters_;
    for (const auto& [partition, ledger] : ledgers_) {
        records::partition_metrics& of = fresh.partitions.emplace_back(ledger->metrics(now_));
        const auto end = log_ends_.find(partition);
        if (end != log_ends_.end() && ledger->watermark() >= 0)
            of.lag = std::max<std::int64_t>(end->second - ledger->watermark(), 0);
    }
    fresh.aborts = cycle_.aborts();
    fresh.fenced = cycle_.fenced();
    fresh.reconnects = cycle_.producers() > 0 ? cycle_.producers() - 1 : 0;
    fresh.in_lanes = time_in_lanes_.snapshot();
    const std::scoped_lock hold(shown_lock_);
    std::swap(shown_, fresh);
}

records::worker_metrics worker_core::metrics() const {
    const std::scoped_lock hold(shown_lock_);
    return shown_;
}

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
