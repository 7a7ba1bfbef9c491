#include <ekiden/kafka/detail/commit_cycle.hpp>

#include <ekiden/sys/contract.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

void commit_cycle::ask_for_producer() {
    state_ = state::making;
    wants_producer_ = false;
    ++producers_;
    link_.renew_producer();
}

void commit_cycle::start() { ask_for_producer(); }

void commit_cycle::begin(std::unique_ptr<commit_batch> batch, sys::clock::time_point now) {
    sys::expects(is_ready() && batch_ == nullptr, "two commits are in progress");
    batch_ = std::move(batch);
    batch_->give_up = now + options_.transaction_limit;
    outputs_sent_ = false;
    state_ = state::committing;
    link_.commit(*batch_);
}

std::unique_ptr<commit_batch> commit_cycle::finish() {
    if (state_ == state::asking) state_ = state::ready;
    std::unique_ptr<commit_batch> ended = std::exchange(batch_, nullptr);
    if (state_ == state::ready && wants_producer_) ask_for_producer();
    return ended;
}

void commit_cycle::repeat_later(repeated what, sys::clock::time_point now) {
    repeats_ = what;
    repeat_at_ = now + options_.call_back_off;
}

void commit_cycle::tick(sys::clock::time_point now) {
    if (now < repeat_at_) return;
    repeat_at_ = sys::clock::time_point::max();
    const repeated what = std::exchange(repeats_, repeated::nothing);
    if (what == repeated::producer) ask_for_producer();
    if (what == repeated::call) link_.repeat(*batch_);
}

void commit_cycle::fail(const std::string& why) {
    if (!failure_) failure_ = why;
    state_ = state::failed;
    repeat_at_ = sys::clock::time_point::max();
}

/// The outcome of the transaction is unknown. A new producer ends it: when init_transactions has returned,
/// the outcome is final, and the committed offsets tell it.
batch_fate commit_cycle::doubt() {
    ask_for_producer();
    return batch_fate::pending;
}

batch_fate commit_cycle::producer_ready(const call_result& result, sys::clock::time_point now) {
    if (state_ != state::making) return batch_fate::pending;
    switch (result.what) {
    case outcome::succeeded:
        state_ = batch_ != nullptr ? state::asking : state::ready;
        return batch_ != nullptr ? batch_fate::unknown : batch_fate::pending;
    case outcome::retriable:
    case outcome::abortable:
        repeat_later(repeated::producer, now);
        return batch_fate::pending;
    case outcome::fenced:
        ++fenced_;
        fail("the producer of worker '" + options_.id + "' is fenced: " + result.error);
        return batch_fate::pending;
    case outcome::fatal:
        break;
    }
    fail("worker '" + options_.id + "' cannot make a producer: " + result.error);
    return batch_fate::pending;
}

batch_fate commit_cycle::commit_ended(std::uint64_t batch, const call_result& result,
                                      sys::clock::time_point now) {
    if (!is_current(batch, state::committing)) return batch_fate::pending;
    wants_producer_ = wants_producer_ || result.wants_new_producer;
    outputs_sent_ = result.outputs_sent;
    refused_topic_ = result.refused_topic;
    switch (result.what) {
    case outcome::succeeded:
        state_ = state::ready;
        return batch_fate::committed;
    case outcome::retriable:
        if (now < batch_->give_up && !batch_->is_void.load(sys::relaxed)) {
            repeat_later(repeated::call, now);
            return batch_fate::pending;
        }
        if (options_.is_transactional) return doubt();
        break;
    case outcome::abortable:
        if (!options_.is_transactional) break;
        ++aborts_;
        state_ = state::aborting;
        link_.abort(*batch_);
        return batch_fate::pending;
    case outcome::fatal:
        if (options_.is_transactional) return doubt();
        wants_producer_ = true;
        break;
    case outcome::fenced:
        ++fenced_;
        fail("worker '" + options_.id + "' is fenced: another process uses this id: " + result.error);
        return batch_fate::pending;
    }
    state_ = state::ready;
    return batch_fate::returned;
}

batch_fate commit_cycle::abort_ended(std::uint64_t batch, const call_result& result,
                                     sys::clock::time_point now) {
    if (!is_current(batch, state::aborting)) return batch_fate::pending;
    wants_producer_ = wants_producer_ || result.wants_new_producer;
    switch (result.what) {
    case outcome::succeeded:
        state_ = state::ready;
        return batch_fate::returned;
    case outcome::retriable:
        if (now >= batch_->give_up) return doubt();
        repeat_later(repeated::call, now);
        return batch_fate::pending;
    case outcome::fenced:
        ++fenced_;
        fail("worker '" + options_.id + "' is fenced: another process uses this id: " + result.error);
        return batch_fate::pending;
    case outcome::abortable:
    case outcome::fatal:
        break;
    }
    return doubt();
}

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
