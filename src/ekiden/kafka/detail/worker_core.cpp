#include <ekiden/kafka/detail/worker_core.hpp>
#include <ekiden/records/detail/failed_record.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

namespace {

constexpr auto never = sys::clock::time_point::max();

} // namespace

worker_core::worker_core(core_options chosen, broker_link& outside)
    : options_(std::move(chosen)), link_(outside), cycle_(options_, outside) {}

worker_core::~worker_core() {
    if (const std::unique_ptr<commit_batch> unfinished = cycle_.abandon()) give_back(*unfinished, false);
    for (auto& [partition, ledger] : ledgers_) {
        ledger->drain(ledger_state::lost, released_);
        ledger->drop_results(released_);
    }
    for (const auto& ledger : old_) ledger->drop_results(released_);
    release_all();
}

void worker_core::start() { cycle_.start(); }

sys::clock::time_point worker_core::tick(sys::clock::time_point now) {
    now_ = now;
    collect();
    cycle_.tick(now);
    repeat_loads();
    for (const auto& [partition, ledger] : ledgers_) ledger->start_due(now, ready_);
    end_waits();
    end_doubt();
    end_revocations();
    start_commit();
    start_ready();
    release_all();
    retire_old();
    publish();
    arm();
    return next_time();
}

partition_ledger* worker_core::find(std::int32_t partition) const noexcept {
    const auto at = ledgers_.find(partition);
    return at == ledgers_.end() ? nullptr : at->second.get();
}

partition_ledger* worker_core::find_epoch(std::uint64_t epoch) const noexcept {
    for (const auto& [partition, ledger] : ledgers_)
        if (ledger->epoch() == epoch) return ledger.get();
    for (const auto& ledger : old_)
        if (ledger->epoch() == epoch) return ledger.get();
    return nullptr;
}

// ---- the group

void worker_core::assigned(group_token group, std::int32_t generation,
                           std::span<const std::int32_t> partitions) {
    group_ = std::move(group);
    generation_ = generation;
    is_rebalancing_ = false;
    ++counters_.rebalances;
    for (const std::int32_t partition : partitions) {
        if (partition_ledger* const old = find(partition)) { // It was never given back.
            old->drain(ledger_state::lost, released_);
            give_back(*old);
        }
        auto fresh =
            std::make_unique<partition_ledger>(options_.topic, partition, ++last_epoch_, options_.limits);
        fresh->generation = generation;
        if (is_closing_)
            fresh->drain(ledger_state::lost, released_);
        else
            link_.load(partition, fresh->epoch());
        ledgers_[partition] = std::move(fresh);
    }
    release_all();
}

void worker_core::revoked(group_token group, std::int32_t generation,
                          std::span<const std::int32_t> partitions) {
    group_ = std::move(group);
    generation_ = generation;
    is_rebalancing_ = true;
    for (const std::int32_t partition : partitions) {
        partition_ledger* const ledger = find(partition);
        if (ledger != nullptr) revoke(*ledger);
    }
    revocations_.push_back({{partitions.begin(), partitions.end()}});
    release_all();
    end_revocations();
}

/// The partition will be given back. Only a partition that is running has something to wait for.
void worker_core::revoke(partition_ledger& ledger) {
    if (ledger.is_running())
        ledger.drain(ledger_state::revoking, released_);
    else if (!ledger.may_commit())
        ledger.drain(ledger_state::lost, released_);
}

void worker_core::lost(std::span<const std::int32_t> partitions) {
    is_rebalancing_ = true;
    revocation fresh;
    for (const std::int32_t partition : partitions) {
        if (partition_ledger* const ledger = find(partition)) {
            ledger->drain(ledger_state::lost, released_);
            ledger->drop_results(released_);
            if (is_in_batch(*ledger)) cycle_.batch()->is_void.store(true, sys::relaxed);
        }
        const bool is_known = std::any_of(revocations_.begin(), revocations_.end(), [&](const revocation& r) {
            return std::find(r.partitions.begin(), r.partitions.end(), partition) != r.partitions.end();
        });
        if (!is_known) fresh.partitions.push_back(partition);
    }
    if (!fresh.partitions.empty() || partitions.empty()) revocations_.push_back(std::move(fresh));
    release_all();
    end_revocations();
}

bool worker_core::is_drained(const partition_ledger& of, sys::clock::time_point limit) const {
    if (is_in_commit(of)) return false;
    if (!of.may_commit() || cycle_.failure()) return true;
    if (of.accepts_results() && of.has_running() && now_ < limit) return false;
    return !of.has_news() || !may_commit_now()
           || (now_ >= limit && now_ - limit >= options_.transaction_limit);
}

/// Gives up functions that still run at the limit of their revocation.
void worker_core::end_waits() {
    const auto give_up = [&](std::int32_t partition, sys::clock::time_point limit) {
        partition_ledger* const ledger = find(partition);
        if (ledger == nullptr || now_ < limit || !ledger->has_running() || ledger->is_running()) return;
        if (!ledger->accepts_results()) return;
        gave_up_running_ = true;
        ledger->give_up_running();
    };
    for (revocation& r : revocations_) {
        if (r.limit == never) r.limit = is_closing_ ? close_limit_ : now_ + options_.revoke_limit;
        for (const std::int32_t partition : r.partitions) give_up(partition, r.limit);
    }
    if (!is_closing_) return;
    for (const auto& [partition, ledger] : ledgers_) give_up(partition, close_limit_);
}

void worker_core::end_revocations() {
    for (std::size_t i = 0; i != revocations_.size();) {
        const revocation& r = revocations_[i];
        const bool is_over =
            std::all_of(r.partitions.begin(), r.partitions.end(), [&](std::int32_t partition) {
                const partition_ledger* const ledger = find(partition);
                return ledger == nullptr || is_drained(*ledger, r.limit);
            });
        if (!is_over) {
            ++i;
            continue;
        }
        const revocation ended = std::move(revocations_[i]);
        revocations_.erase(revocations_.begin() + static_cast<std::ptrdiff_t>(i));
        for (const std::int32_t partition : ended.partitions) {
            if (partition_ledger* const ledger = find(partition)) give_back(*ledger);
        }
        release_all();
        link_.unassign(ended.partitions);
    }
}

/// The assignment has ended. From now on, no commit names it.
void worker_core::give_back(partition_ledger& ledger) {
    counters_.repeated += ledger.unsaved();
    counters_.given_up += ledger.given_up_records();
    ledger.drop_results(released_);
    ledger.set_gone();
    const auto at = ledgers_.find(ledger.partition());
    log_ends_.erase(ledger.partition());
    reloads_.erase(ledger.partition());
    old_.push_back(std::move(at->second));
    ledgers_.erase(at);
}

void worker_core::retire_old() {
    std::erase_if(old_, [&](const auto& ledger) { return ledger->in_lanes() == 0 && !is_in_batch(*ledger); });
}

// ---- records

void worker_core::loaded(const loaded_offset& answer) {
    partition_ledger* const ledger = find(answer.partition);
    if (ledger == nullptr || ledger->epoch() != answer.epoch) return;
    reloads_.erase(answer.partition);
    if (ledger->state() == ledger_state::loading)
        ledger->restore(answer.offset, answer.metadata, answer.parked);
    else
        settle(*ledger, answer);
    release_all();
}

void worker_core::load_failed(std::int32_t partition, std::uint64_t epoch, const call_result& why) {
    const partition_ledger* const ledger = find(partition);
    if (ledger == nullptr || ledger->epoch() != epoch) return;
    if (why.what == outcome::fatal || why.what == outcome::fenced)
        return fail("the committed offset of " + options_.topic + "[" + std::to_string(partition)
                    + "] cannot be read: " + why.error);
    reloads_[partition] = now_ + options_.call_back_off;
}

void worker_core::repeat_loads() {
    for (auto at = reloads_.begin(); at != reloads_.end();) {
        const auto [partition, due] = *at;
        if (now_ < due) {
            ++at;
            continue;
        }
        at = reloads_.erase(at);
        if (const partition_ledger* const ledger = find(partition)) link_.load(partition, ledger->epoch());
    }
}

std::size_t worker_core::room(std::int32_t partition) const {
    const partition_ledger* const ledger = find(partition);
    return ledger != nullptr && !failure() ? ledger->room() : 0;
}

void worker_core::arrived(std::int32_t partition, std::span<fetched_record> batch) {
    partition_ledger* const ledger = find(partition);
    if (ledger == nullptr || failure()) {
        for (const fetched_record& one : batch) released_.push_back(one.payload);
    } else {
        ledger->arrive(batch, now_, ready_, released_);
    }
    start_ready();
    release_all();
}

void worker_core::passed(std::int32_t partition, std::int64_t position) {
    if (partition_ledger* const ledger = find(partition)) ledger->pass(position);
}

void worker_core::log_end(std::int32_t partition, std::int64_t offset) {
    if (find(partition) != nullptr) log_ends_[partition] = offset;
}

/// Handles the records that lanes have returned.
void worker_core::collect() {
    held_record* next = ended_.take(ended_list::never);
    while (next != nullptr) {
        held_record& r = *std::exchange(next, next->next);
        const auto waited = std::chrono::duration_cast<std::chrono::nanoseconds>(now_ - r.arrived);
        sys::clock::time_point due = never;
        if (r.end == record_end::done) {
            time_in_lanes_.record(static_cast<std::uint64_t>(std::max<std::int64_t>(waited.count(), 0)));
            ++(r.is_dead_letter ? counters_.dead_letters : counters_.done);
        } else if (r.end == record_end::failed) {
            due = now_ + records::detail::delay_after(r.attempt, options_.retry);
            ++counters_.retries; // the function is called again
        }
        r.ledger->end(r, due, ready_, released_);
    }
}

void worker_core::start_ready() {
    if (ready_.empty()) return;
    std::vector<held_record*> ready;
    ready.swap(ready_);
    link_.start(ready);
    ready.clear();
    if (ready_.empty()) ready_.swap(ready); // keeps the memory
}

void worker_core::release_all() {
    for (void* const payload : released_) link_.release(payload);
    released_.clear();
}

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
