#include <ekiden/kafka/detail/partition_ledger.hpp>

#include <ekiden/sys/contract.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

namespace {

std::size_t bytes_of(const records::headers& with) noexcept {
    std::size_t sum = 0;
    for (const records::header& one : with) sum += one.name.size() + one.value.size();
    return sum;
}

} // namespace

partition_ledger::partition_ledger(std::string topic, std::int32_t partition, std::uint64_t epoch,
                                   const ledger_limits& limits)
    : topic_(std::move(topic)), partition_(partition), epoch_(epoch), limits_(limits), done_(limits.window),
      given_up_(stop_.get_token()) {}

partition_ledger::~partition_ledger() {
    sys::expects(in_lanes_ == 0, "a ledger is destroyed while its records are in lanes");
}

records::request held_record::request() const {
    return {.id = id,
            .key = key,
            .value = value,
            .has_key = has_key,
            .has_value = has_value,
            .with = with,
            .attempt = attempt,
            .generation = ledger->generation,
            .given_up = ledger->given_up()};
}

// ---- the life of the assignment

void partition_ledger::restore(std::int64_t committed, std::string_view metadata,
                               std::span<const std::string> parked) {
    if (state_ != ledger_state::loading) return;
    const auto done = from_metadata(committed, metadata);
    if (!done) {
        state_ = ledger_state::refused;
        return;
    }
    if (committed >= 0) done_.restore(*done);
    for (const std::string& key : parked) (void)keys.park(key);
    state_ = ledger_state::running;
}

void partition_ledger::drain(ledger_state next, std::vector<void*>& released) {
    state_ = next;
    const std::vector<held_record*> waiting = keys.close();
    in_lanes_ -= waiting.size(); // They count as being in lanes, because lanes have put them there.
    for (held_record* const r : waiting) give_up(*r, released);
    for (const auto& [due, r] : retries_) give_up(*r, released);
    retries_.clear();
    for (held_record* const r : behind_window_) give_up(*r, released);
    behind_window_.clear();
    for (held_record* r = first_; r != nullptr; r = r->newer) {
        // Relaxed is enough: the exchange only decides whether the record begins. The lane still returns it.
        record_phase queued = record_phase::queued;
        if (!r->phase.compare_exchange_strong(queued, record_phase::dropped, sys::relaxed)) continue;
        ++dropped_;
        ++given_up_unrun_;
    }
    stop_.request_stop();
}

void partition_ledger::drop_results(std::vector<void*>& released) {
    accepts_results_ = false;
    for (held_record* r = first_; r != nullptr;) {
        held_record& one = *std::exchange(r, r->newer);
        if (one.phase.load(sys::relaxed) == record_phase::done && !one.is_carried) free(one, released);
    }
}

// ---- records

held_record& partition_ledger::hold(fetched_record& from, sys::clock::time_point now) {
    held_record* const r = free_ != nullptr ? free_ : &pool_.emplace_back();
    if (free_ == r) {
        free_ = r->next;
    } else {
        r->id.topic = topic_;
        r->id.partition = partition_;
        r->ledger = this;
    }
    r->id.offset = from.offset;
    r->timestamp = from.timestamp;
    r->key = from.key;
    r->value = from.value;
    r->has_key = from.has_key;
    r->has_value = from.has_value;
    r->leads_key = r->is_dead_letter = false;
    r->with = std::move(from.with);
    r->further_bytes = bytes_of(r->with);
    r->payload = from.payload;
    r->attempt = r->refusals = 0;
    r->arrived = now;
    r->is_carried = false;
    r->phase.store(record_phase::idle, sys::relaxed);
    r->newer = nullptr;
    r->older = last_;
    (last_ == nullptr ? first_ : last_->newer) = r;
    last_ = r;
    ++held_;
    held_bytes_ += r->bytes();
    return *r;
}

void partition_ledger::free(held_record& r, std::vector<void*>& released) {
    if (r.phase.load(sys::relaxed) == record_phase::done) --uncommitted_;
    (r.older == nullptr ? first_ : r.older->newer) = r.newer;
    (r.newer == nullptr ? last_ : r.newer->older) = r.older;
    --held_;
    held_bytes_ -= r.bytes();
    released.push_back(r.payload);
    r.phase.store(record_phase::idle, sys::relaxed);
    r.with.clear();
    r.outputs.clear();
    r.error.clear();
    r.key = r.value = {};
    r.next = free_;
    free_ = &r;
}

void partition_ledger::give_up(held_record& r, std::vector<void*>& released) {
    ++given_up_unrun_;
    free(r, released);
}

void partition_ledger::queue(held_record& r, std::vector<held_record*>& ready) {
    r.phase.store(record_phase::queued, sys::relaxed); // The post to the lane publishes the record.
    ++in_lanes_;
    ready.push_back(&r);
}

/// Starts a record that is in the window, unless it was done before an earlier commit, or has been delivered
/// before: librdkafka before 2.4 may deliver a record twice.
void partition_ledger::admit(held_record& r, std::vector<held_record*>& ready, std::vector<void*>& released) {
    if (done_.open(r.id.offset))
        queue(r, ready);
    else
        free(r, released);
}

void partition_ledger::arrive(std::span<fetched_record> batch, sys::clock::time_point now,
                              std::vector<held_record*>& ready, std::vector<void*>& released) {
    for (fetched_record& one : batch) {
        if (!is_running()) {
            released.push_back(one.payload);
            continue;
        }
        const bool has_room = behind_window_.empty() && done_.has_room_for(one.offset);
        held_record& r = hold(one, now);
        if (has_room)
            admit(r, ready, released);
        else
            behind_window_.push_back(&r);
    }
    move_on(ready, released);
}

void partition_ledger::pass(std::int64_t position) {
    if (!is_running() || position <= passed_to_) return;
    passed_to_ = position;
    std::vector<held_record*> ready;
    std::vector<void*> released;
    move_on(ready, released);
    sys::expects(ready.empty() && released.empty(), "records behind the window became ready by a position");
}

/// Starts records that were behind the window, and passes holes at the end.
void partition_ledger::move_on(std::vector<held_record*>& ready, std::vector<void*>& released) {
    if (!is_running()) return; // Records behind the window have been given up, and are no holes.
    while (!behind_window_.empty() && done_.has_room_for(behind_window_.front()->id.offset)) {
        held_record& r = *behind_window_.front();
        behind_window_.pop_front();
        admit(r, ready, released);
    }
    const std::int64_t before = done_.watermark();
    if (behind_window_.empty() && passed_to_ > done_.end() && done_.has_room_for(passed_to_ - 1))
        done_.pass_to(passed_to_);
    has_changed_ = has_changed_ || done_.watermark() != before;
}

void partition_ledger::start_due(sys::clock::time_point now, std::vector<held_record*>& ready) {
    while (!retries_.empty() && retries_.begin()->first <= now) {
        held_record& r = *retries_.begin()->second;
        retries_.erase(retries_.begin());
        queue(r, ready);
    }
}

void partition_ledger::end(held_record& r, sys::clock::time_point due, std::vector<held_record*>& ready,
                           std::vector<void*>& released) {
    --in_lanes_;
    if (r.phase.load(sys::relaxed) == record_phase::dropped) {
        --dropped_;
        return free(r, released);
    }
    if (r.end == record_end::failed && is_running()) {
        r.phase.store(record_phase::idle, sys::relaxed);
        retries_.emplace(due, &r);
        return;
    }
    if (r.end != record_end::done || !may_commit() || !accepts_results_) return give_up(r, released);
    if (r.leads_key) {
        held_record* const next = keys.next(r);
        if (next != nullptr) {
            --in_lanes_; // It counts already, because its lane has put it into the queue of the key.
            queue(*next, ready);
        }
    }
    done_.finish(r.id.offset);
    has_changed_ = true;
    ++finished_;
    ++uncommitted_;
    r.phase.store(record_phase::done, sys::relaxed);
    for (const records::outgoing& one : r.outputs) {
        const std::size_t bytes =
            one.topic.size() + one.key.size() + (one.value ? one.value->size() : 0) + bytes_of(one.with);
        r.further_bytes += bytes;
        held_bytes_ += bytes;
    }
    if (r.outputs.empty()) free(r, released);
    move_on(ready, released);
}

std::size_t partition_ledger::room() const noexcept {
    if (paused() != records::pause_reason::none) return 0;
    const std::size_t records = limits_.held - held_;
    if (!done_.has_begun() || done_.watermark() == done_.end()) return records;
    const std::int64_t offsets = done_.watermark() + static_cast<std::int64_t>(limits_.window) - done_.end();
    return std::min(records, static_cast<std::size_t>(offsets));
}

records::pause_reason partition_ledger::paused() const noexcept {
    if (!is_running()) return records::pause_reason::state;
    if (!behind_window_.empty() || (done_.has_begun() && !done_.has_room_for(done_.end())))
        return records::pause_reason::window;
    if (held_ >= limits_.held) return records::pause_reason::count;
    if (held_bytes_ >= limits_.held_bytes) return records::pause_reason::bytes;
    return records::pause_reason::none;
}

sys::clock::time_point partition_ledger::next_retry() const noexcept {
    return retries_.empty() ? sys::clock::time_point::max() : retries_.begin()->first;
}

// ---- commits

void partition_ledger::take(commit_part& to) {
    const done_offsets done = done_.done();
    to.partition = partition_;
    to.epoch = epoch_;
    to.offset = done.first;
    to.metadata = to_metadata(done);
    to.finished = finished_;
    for (held_record* r = first_; r != nullptr; r = r->newer) {
        if (r->phase.load(sys::relaxed) != record_phase::done) continue;
        r->is_carried = true;
        to.carried.push_back(r);
    }
    has_changed_ = false;
}

void partition_ledger::committed(const commit_part& part, std::vector<void*>& released) {
    saved_ = part.finished;
    for (held_record* const r : part.carried) free(*r, released);
}

void partition_ledger::returned(const commit_part& part, bool outputs_sent, std::vector<void*>& released) {
    has_changed_ = true;
    for (held_record* const r : part.carried) {
        r->is_carried = false;
        if (outputs_sent || !may_commit()) free(*r, released);
    }
}

bool partition_ledger::settle(const commit_part& part, std::int64_t offset, std::string_view metadata,
                              std::vector<void*>& released) {
    const auto done = from_metadata(offset, metadata);
    if (offset >= part.offset) saved_ = part.finished;
    has_changed_ = true;
    for (held_record* const r : part.carried) {
        r->is_carried = false;
        if (!done || done->has(r->id.offset)) free(*r, released);
    }
    return done.has_value();
}

// ---- metrics

records::partition_metrics partition_ledger::metrics(sys::clock::time_point now) const {
    records::partition_metrics shown;
    shown.topic = topic_;
    shown.partition = partition_;
    switch (state_) {
    case ledger_state::loading:
    case ledger_state::refused:
        shown.state = records::partition_state::loading;
        break;
    case ledger_state::running:
        shown.state = records::partition_state::running;
        break;
    case ledger_state::revoking:
        shown.state = records::partition_state::revoking;
        break;
    case ledger_state::lost:
    case ledger_state::gone:
        shown.state = records::partition_state::lost;
        break;
    }
    shown.paused = paused();
    shown.held = held_;
    shown.held_bytes = held_bytes_;
    shown.retrying = keys.waiting_keys();
    shown.parked = keys.parked_keys();
    for (const held_record* r = first_; r != nullptr; r = r->newer) {
        const record_phase phase = r->phase.load(sys::relaxed);
        if (phase == record_phase::running) ++shown.running;
        if (phase == record_phase::done || shown.oldest_offset >= 0) continue;
        shown.oldest_offset = r->id.offset;
        shown.oldest_key = r->key;
        shown.oldest_age = now - r->arrived;
    }
    std::tie(shown.hot_key, shown.hot_key_held) = keys.longest();
    return shown;
}

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
