// The commits of a simulated worker process: the calls of a transaction, their time-outs and their errors.
#include "process.hpp"

namespace sim_kafka {

using ekiden::sim::expect;
using ekiden::sim::may_fail;

namespace {

core::call_result result_of(const answer* got) {
    if (got == nullptr) return {core::outcome::retriable, false, false, "timed out"};
    switch (*got) {
    case answer::ok:
        return {};
    case answer::retriable:
        return {core::outcome::retriable, false, false, "retriable"};
    case answer::abortable:
    case answer::unknown_member:
        return {core::outcome::abortable, false, false, "abortable"};
    case answer::fatal:
        return {core::outcome::fatal, false, false, "fatal"};
    case answer::fenced:
        break;
    }
    return {core::outcome::fenced, false, false, "fenced"};
}

} // namespace

// ---- commits

offsets process::offsets_of(const core::commit_batch& batch) const {
    offsets made;
    for (const core::commit_part& part : batch.parts) {
        const auto at = assigned_.find(part.partition);
        expect(at != assigned_.end() && at->second.epoch == part.epoch,
               "no commit names a partition after it was given back");
        expect(part.metadata.size() <= core::most_metadata, "the metadata fits");
        made[part.partition] = {part.offset, part.metadata};
    }
    return made;
}

std::vector<output_entry> process::outputs_of(const core::commit_batch& batch) const {
    std::vector<output_entry> made;
    for (const core::commit_part& part : batch.parts) {
        for (const core::held_record* const r : part.carried) {
            for (const ekiden::records::outgoing& o : r->outputs) {
                output_entry& out = made.emplace_back();
                out.topic = o.topic;
                out.key = o.topic == "dead.parked" ? core::read_parked_key(o.key).value().key : o.key;
                out.partition = r->id.partition;
                out.offset = r->id.offset;
                if (o.topic == "dead")
                    expect(*ekiden::records::find(o.with, "ekiden-offset") == std::to_string(r->id.offset),
                           "a dead letter names its offset");
            }
        }
    }
    return made;
}

void process::commit(core::commit_batch& batch) {
    for (const core::commit_part& part : batch.parts)
        tell("commits " + std::to_string(part.partition) + " to " + std::to_string(part.offset) + ", "
             + std::to_string(part.carried.size()) + " records " + part.metadata);
    expect(epoch_ != late_epoch_ || !options_.is_transactional,
           "after a request that has timed out, the next transaction has a new producer");
    step_ = {step::outputs, &batch, batch.number, ++sequence_};
    later([this, number = batch.number] {
        if (step_.number == number) take_step();
    });
}

void process::repeat(core::commit_batch& batch) {
    expect(step_.batch == &batch, "only the current batch is repeated");
    later([this, number = batch.number] {
        if (step_.number == number && step_.batch != nullptr) take_step();
    });
}

void process::abort(core::commit_batch& batch) {
    expect(step_.batch == &batch, "only the current batch is aborted");
    step_.now = step::abort;
    take_step();
}

/// Makes the next call of the transaction. As in librdkafka, each call can be repeated.
void process::take_step() {
    if (is_over_) return;
    const core::commit_batch& batch = *step_.batch;
    if (batch.is_void && step_.now != step::abort && step_.now != step::end) {
        core_.commit_ended(step_.number, {core::outcome::abortable, false, step_.has_sent_outputs, "void"});
        return tick();
    }
    std::function<answer(cluster&)> at_broker;
    const bool is_transactional = options_.is_transactional;
    const auto* const group = static_cast<const token*>(batch.group.get());
    switch (step_.now) {
    case step::outputs:
        at_broker = [is_transactional, id = options_.id, epoch = epoch_, sequence = step_.sequence,
                     producer = plain_producer_, what = outputs_of(batch)](cluster& c) {
            if (is_transactional) return what.empty() ? answer::ok : c.produce(id, epoch, sequence, what);
            c.produce(producer, sequence, what);
            return answer::ok;
        };
        break;
    case step::offsets: // A consumer commits with the generation of the moment, whatever the batch says.
        at_broker = [is_transactional, id = options_.id, epoch = epoch_, group = *group, member = member_,
                     generation = generation_, what = offsets_of(batch)](cluster& c) {
            return is_transactional ? c.send_offsets(id, epoch, group.member, group.generation, what)
                                    : c.commit_offsets(member, generation, what);
        };
        break;
    case step::end:
    case step::abort:
        at_broker = [id = options_.id, epoch = epoch_, commits = step_.now == step::end](cluster& c) {
            return c.end_transaction(id, epoch, commits);
        };
        break;
    }
    std::optional<answer> refused; // by the broker, without an effect, or with it if it is fatal
    if (may_fail("a retriable error")) refused = answer::retriable;
    if (step_.now == step::outputs && may_fail("an abortable error")) refused = answer::abortable;
    const bool loses_producer = is_transactional && may_fail("a fatal error");
    call<answer>(
        "commit",
        [at_broker = std::move(at_broker), refused, loses_producer](cluster& c) {
            if (refused) return *refused;
            const answer made = at_broker(c);
            return loses_producer ? answer::fatal : made;
        },
        [this, number = step_.number](const answer* got) {
            if (step_.number == number && step_.batch != nullptr) step_ended(got);
        });
}

void process::step_ended(const answer* result) {
    step_.has_timed_out = step_.has_timed_out || !result;
    if (!result) late_epoch_ = epoch_;
    core::call_result told = result_of(result);
    told.wants_new_producer = step_.has_timed_out && options_.is_transactional;
    if (told.what == core::outcome::succeeded && step_.now != step::end && step_.now != step::abort) {
        if (step_.now == step::outputs) step_.has_sent_outputs = true;
        const bool is_last = step_.now == step::offsets && !options_.is_transactional;
        step_.now = step_.now == step::outputs ? step::offsets : step::end;
        if (!is_last) return take_step();
    }
    told.outputs_sent = step_.has_sent_outputs;
    tell("step " + std::to_string(step_.now) + ": " + (told.error.empty() ? "ok" : told.error));
    const bool was_abort = step_.now == step::abort;
    if (told.what != core::outcome::retriable && told.what != core::outcome::abortable) step_.batch = nullptr;
    const std::uint64_t number = step_.number;
    if (was_abort)
        core_.abort_ended(number, told);
    else
        core_.commit_ended(number, told);
    if (!was_abort && may_fail("a repeated answer")) core_.commit_ended(number, told);
    tick();
}

void process::renew_producer() {
    if (is_over_) return;
    tell("makes a producer");
    step_ = {};
    epoch_ = -1;
    if (!options_.is_transactional)
        return later([this] {
            core_.producer_ready({});
            if (assigned_.empty()) join();
            tick();
        });
    call<std::int64_t>(
        "init", [id = options_.id](cluster& c) { return c.init_producer(id); },
        [this](const std::int64_t* got) {
            if (got) epoch_ = *got;
            core_.producer_ready(
                got ? core::call_result{}
                    : core::call_result{core::outcome::retriable, false, false, "timed out"});
            if (got && assigned_.empty()) join();
            tick();
        });
}

} // namespace sim_kafka
