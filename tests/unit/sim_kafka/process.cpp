#include "process.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace sim_kafka {

using namespace std::chrono_literals;
using ekiden::sim::choose;
using ekiden::sim::expect;
using ekiden::sim::may_fail;

namespace {

const bool prints = std::getenv("KAFKA_SEEDS_PRINTS") != nullptr;

std::string text_of(std::span<const std::int32_t> partitions) {
    std::string text;
    for (const std::int32_t p : partitions) text += " " + std::to_string(p);
    return text;
}

} // namespace

void connection::stall(ekiden::sim_context& broker, std::chrono::nanoseconds length) {
    if (length == 0s || std::exchange(is_stalled_, true)) return;
    const auto timer = std::make_shared<ekiden::steady_timer>(broker, length);
    timer->async_wait([timer, this](std::error_code) {
        is_stalled_ = false;
        if (!waiting_.empty()) ekiden::sim::reached("a stalled connection has continued");
        for (const auto& request : std::exchange(waiting_, {})) request();
    });
}

process::process(cluster& c, place_of_worker& place, observations& seen, core::core_options chosen)
    : cluster_(c), place_(place), seen_(seen), options_(chosen), tick_timer_(place.context),
      plain_producer_(c.new_producer()), core_(std::move(chosen), *this) {}

process::~process() { kill(); }

/// Adds a line to the report of the run.
void process::tell(const std::string& what) const {
    std::string text = std::string(place_.context.name()) + " " + what;
    if (prints)
        std::fprintf(stderr, "%lld ms: %s\n", static_cast<long long>(place_.context.elapsed() / 1ms),
                     text.c_str());
    ekiden::sim::note(std::move(text));
}

// ---- the life of the process

void process::start() {
    core_.start();
    beat();
    poll();
}

void process::pause(std::chrono::milliseconds length) {
    if (is_paused_ || is_over_) return;
    is_paused_ = true;
    const auto timer = std::make_shared<ekiden::steady_timer>(place_.context, length);
    timer->async_wait([timer, self = weak_from_this()](std::error_code) {
        const auto p = self.lock();
        if (!p || p->is_over_) return;
        p->is_paused_ = false;
        ekiden::sim::reached("a process was stopped and has continued");
        while (!p->backlog_.empty() && !p->is_over_ && !p->is_paused_) {
            const auto f = std::move(p->backlog_.front());
            p->backlog_.pop_front();
            f();
        }
    });
}

/// The core is destroyed, so its records must come back from the lanes. Nothing leaves the process meanwhile.
void process::kill() {
    if (std::exchange(is_over_, true)) return;
    backlog_.clear();
    tell("ends");
    std::vector<std::int32_t> all;
    for (const auto& [partition, from] : assigned_) all.push_back(partition);
    core_.lost(all);
    for (auto& [key, lane] : lanes_) {
        bool is_running = std::exchange(lane.is_busy, false);
        for (core::held_record* const r : lane.queue) {
            if (std::exchange(is_running, false))
                core_.ended(*r, "killed");
            else if (core_.begin(*r))
                core_.ended(*r, "killed");
        }
        lane.queue.clear();
    }
    (void)core_.tick(now());
}

void process::close() {
    if (is_over_ || std::exchange(is_leaving_, true)) return;
    run([this] {
        core_.close(now() + 5s);
        tick();
    });
}

void process::check_clean_end() {
    if (!core_.has_closed_cleanly()) return;
    ekiden::sim::reached("closed cleanly");
    for (const auto& [partition, from] : assigned_) {
        const stored_offset& stored = cluster_.stored(partition);
        const auto done = core::from_metadata(stored.offset, stored.metadata);
        for (const auto& [epoch, offset] : finished_)
            expect(epoch != from.epoch || (done && done->has(offset)),
                   "after a clean end everything that was done is committed");
    }
}

void process::leave() {
    check_clean_end();
    const std::uint64_t member = member_;
    kill();
    place_.context.get_executor().post([&c = cluster_, member] { c.leave(member); });
}

void process::tick() {
    if (is_over_) return;
    const moment next = core_.tick(now());
    if (is_over_) return;
    if (core_.failure()) {
        expect(core_.failure()->find(options_.id) != std::string::npos, "the error names the id");
        ekiden::sim::reached("a worker has ended with an error");
        return leave();
    }
    if (is_leaving_ && core_.is_closed()) return leave();
    for (const auto& shown : core_.metrics().partitions)
        expect(shown.held <= options_.limits.held, "a partition holds at most as many records as allowed");
    if (next >= ticks_at_ && ticks_at_ > now()) return;
    ticks_at_ = next;
    if (next == moment::max()) return;
    tick_timer_.expires_at(next);
    tick_timer_.async_wait([self = weak_from_this()](std::error_code canceled) {
        const auto p = self.lock();
        if (canceled || !p) return;
        p->run([raw = p.get()] {
            raw->ticks_at_ = moment::max();
            raw->tick();
        });
    });
}

void process::wake() noexcept {
    if (is_over_ || std::exchange(wakes_, true)) return;
    later([this] {
        wakes_ = false;
        tick();
    });
}

// ---- the group

void process::join() {
    if (member_ != 0 || is_leaving_ || std::exchange(is_joining_, true)) return;
    generation_ = 0;
    is_revoking_ = false;
    call<std::uint64_t>(
        "new member", [](cluster& c) { return c.new_member(); },
        [this](const std::uint64_t* got) {
            if (!got) {
                is_joining_ = false;
                return join();
            }
            member_ = *got;
            enter();
        });
}

/// The second step of join(). A late answer to an older request is dropped, as librdkafka does. The name of
/// the member stays the same until the broker does not know it any more.
void process::enter() {
    call<bool>(
        "join", [member = member_, self = weak_from_this()](cluster& c) { return c.join(member, self); },
        [this](const bool* known) {
            if (known == nullptr) return enter();
            is_joining_ = false;
            if (!*known) lose();
        });
}

void process::beat() {
    if (member_ != 0 && !is_joining_) {
        call<bool>(
            "heartbeat", [member = member_](cluster& c) { return c.heartbeat(member); },
            [this, member = member_](const bool* known) {
                if (known != nullptr && !*known && member == member_) lose();
            });
    }
    after(3s, [this] { beat(); });
}

/// The session has expired. The worker gives everything back and joins as a new member.
void process::lose() {
    ekiden::sim::reached("lost");
    tell("has lost its session");
    member_ = 0;
    std::vector<std::int32_t> all;
    for (const auto& [partition, from] : assigned_) all.push_back(partition);
    is_revoking_ = true;
    core_.lost(all);
    if (!all.empty()) tick();
}

void process::revoke(std::uint64_t member, std::int32_t generation, std::vector<std::int32_t> what) {
    later([this, member, generation, what = std::move(what)] {
        if (member != member_) return;
        tell("revoked" + text_of(what));
        generation_ = generation;
        is_revoking_ = true;
        for (const std::int32_t p : what) assigned_[p].limit = now() + options_.revoke_limit;
        core_.revoked(std::make_shared<token>(token{member, generation}), generation, what);
        tick();
    });
}

void process::assign(std::uint64_t member, std::int32_t generation, std::vector<std::int32_t> what) {
    later([this, member, generation, what = std::move(what)] {
        if (member != member_) return;
        tell("assigned" + text_of(what) + ", generation " + std::to_string(generation));
        generation_ = generation;
        for (const std::int32_t p : what) {
            expect(!assigned_.contains(p), "a partition was given back before it is assigned again");
            assigned_[p] = {};
        }
        core_.assigned(std::make_shared<token>(token{member, generation}), generation, what);
        tick();
    });
}

void process::unassign(std::span<const std::int32_t> partitions) {
    if (is_over_) return;
    tell("gives back" + text_of(partitions));
    for (const std::int32_t p : partitions) {
        const fetch& from = assigned_[p];
        const bool is_lost = from.limit == moment::max() || member_ == 0;
        expect(core_.failure() || is_lost || from.running == 0 || now() >= from.limit || is_leaving_,
               "running functions are waited for until the limit of the revocation");
    }
    for (const std::int32_t p : partitions) assigned_.erase(p);
    is_revoking_ = false;
    std::vector<std::int32_t> what(partitions.begin(), partitions.end());
    if (member_ == 0) return assigned_.empty() ? later([this] { join(); }) : void();
    place_.context.get_executor().post([&c = cluster_, member = member_, what] { c.released(member, what); });
}

void process::load(std::int32_t partition, std::uint64_t epoch) {
    if (is_over_) return;
    const auto at = assigned_.find(partition);
    expect(at != assigned_.end(), "only assigned partitions are loaded");
    at->second.epoch = epoch;
    struct loaded {
        std::optional<stored_offset> offset;
        std::set<std::string> parked;
    };
    call<loaded>(
        "load", [partition](cluster& c) { return loaded{c.fetch_offset(partition), c.parked(partition)}; },
        [this, partition, epoch](const loaded* got) {
            if (!got || !got->offset || may_fail("load")) {
                core_.load_failed(partition, epoch, {core::outcome::retriable, false, false, "unstable"});
                return tick();
            }
            const auto found = assigned_.find(partition);
            const bool is_current = found != assigned_.end() && found->second.epoch == epoch;
            if (is_current && found->second.position >= 0) ekiden::sim::reached("an outcome was unknown");
            if (is_current && found->second.position < 0) {
                found->second.position = std::max<std::int64_t>(got->offset->offset, 0);
                const auto done = core::from_metadata(got->offset->offset, got->offset->metadata);
                if (done) found->second.done = *done;
            }
            tell("has loaded " + std::to_string(partition) + " at " + std::to_string(got->offset->offset)
                 + " " + got->offset->metadata);
            core_.loaded({partition,
                          epoch,
                          got->offset->offset,
                          got->offset->metadata,
                          {got->parked.begin(), got->parked.end()}});
            tick();
        });
}

// ---- records

void process::poll() {
    if (is_revoking_) { // During a revocation nothing is delivered.
        tick();
    } else {
        for (auto& [partition, from] : assigned_)
            if (from.position >= 0) fetch_from(partition, from);
        tick();
    }
    if (!is_over_) after(std::chrono::milliseconds(20 + 40 * choose(5)), [this] { poll(); });
}

void process::fetch_from(std::int32_t partition, fetch& from) {
    const std::size_t room = core_.room(partition);
    if (room == 0) return;
    const auto& log = cluster_.input[static_cast<std::size_t>(partition)];
    const std::size_t end = cluster_.visible[static_cast<std::size_t>(partition)];
    const std::int64_t log_end = end == 0 ? 0 : log[end - 1].offset + 1;
    if (from.position > 0 && may_fail("a stale fetch"))
        from.position = std::max<std::int64_t>(from.position - 2, from.done.first);
    std::vector<core::fetched_record> batch;
    for (std::size_t i = 0; i != end && batch.size() < room; ++i) {
        const input_entry& one = log[i];
        if (one.offset < from.position) continue;
        from.position = one.offset + 1;
        if (one.is_hole) continue;
        core::fetched_record& made = batch.emplace_back();
        made.offset = one.offset;
        made.timestamp = 1'000'000 + one.offset;
        made.key = one.key;
        made.value = one.key;
        made.payload = new payload{partition, from.epoch};
        ++from.alive;
        ++seen_.payloads;
        if (choose(4) == 0) break;
    }
    core_.arrived(partition, batch);
    core_.log_end(partition, log_end);
    const auto is_behind = [&](const input_entry& e) { return e.offset >= from.position && !e.is_hole; };
    if (std::none_of(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(end), is_behind)) {
        from.position = std::max(from.position, log_end);
        core_.passed(partition, from.position);
    }
    expect(from.alive <= options_.limits.held, "memory is bounded by the records that are held");
}

void process::release(void* bytes) noexcept {
    const std::unique_ptr<payload> owned(static_cast<payload*>(bytes));
    --seen_.payloads;
    const auto at = assigned_.find(owned->partition);
    if (at != assigned_.end() && at->second.epoch == owned->epoch) --at->second.alive;
}

void process::start(std::span<core::held_record* const> ready) {
    for (core::held_record* const r : ready) {
        // Lanes outlive assignments: the key of a lane has no epoch.
        const std::pair<std::int32_t, std::string> key(r->id.partition, r->key);
        lanes_[key].queue.push_back(r);
        if (is_over_) continue;
        later([this, key] { run_lane(key); });
    }
}

void process::run_lane(const std::pair<std::int32_t, std::string>& key) {
    lane_state& mine = lanes_[key];
    if (mine.is_busy || mine.queue.empty()) return;
    core::held_record& r = *mine.queue.front();
    if (core_.begin(r)) return begin(r, key);
    mine.queue.pop_front();
    if (!mine.queue.empty()) later([this, key] { run_lane(key); });
}

void process::begin(core::held_record& r, std::pair<std::int32_t, std::string> key) {
    lanes_[key].is_busy = true;
    ++seen_.begun;
    if (!seen_.seen.emplace(key.first, r.id.offset).second && r.attempt == 1) ++seen_.repeated;
    expect(!std::exchange(running_[key], true), "functions of one key do not overlap");
    const std::uint64_t epoch = static_cast<payload*>(r.payload)->epoch;
    const bool is_first = begun_.emplace(epoch, r.id.offset).second;
    expect(is_first == (r.attempt == 1), "a function runs once in an assignment, except for retries");
    std::int64_t& last = last_begun_.try_emplace({epoch, key.second}, -1).first->second;
    expect(r.id.offset >= last, "the functions of a key run in the order of its records");
    last = r.id.offset;
    const auto at = assigned_.find(key.first);
    if (at != assigned_.end() && at->second.epoch == epoch) {
        ++at->second.running;
        expect(!at->second.done.has(r.id.offset), "no function runs for a record that was committed before");
    }
    expect(r.request().attempt == r.attempt, "the request is that of the record");
    tell("begins " + std::to_string(r.id.partition) + ":" + std::to_string(r.id.offset) + " " + key.second);
    const auto length =
        choose(8) == 0 ? std::chrono::milliseconds(500 << choose(5)) : std::chrono::milliseconds(choose(50));
    after(length, [this, &r, key = std::move(key)] { end(r, key); });
}

void process::end(core::held_record& r, const std::pair<std::int32_t, std::string>& key) {
    running_[key] = false;
    const auto at = assigned_.find(key.first);
    if (at != assigned_.end() && at->second.epoch == static_cast<payload*>(r.payload)->epoch)
        --at->second.running;
    lane_state& mine = lanes_[key];
    mine.is_busy = false;
    mine.queue.pop_front();
    unsigned& failures = seen_.failures_left[{key.first, r.id.offset}];
    if (failures != 0) {
        if (failures < 1000) --failures; // others fail always
        core_.ended(r, "a failure");
    } else {
        finished_.emplace(static_cast<payload*>(r.payload)->epoch, r.id.offset);
        ekiden::records::reply reply;
        reply.post("out", std::string(r.key),
                   std::to_string(r.id.partition) + ":" + std::to_string(r.id.offset));
        if (options_.is_transactional || choose(3) != 0)
            core_.ended(r, std::move(reply));
        else
            end_elsewhere(r);
    }
    if (!mine.queue.empty()) later([this, key] { run_lane(key); });
}

/// The effect is elsewhere, so the record has no output.
void process::end_elsewhere(core::held_record& r) {
    cluster_.produce(plain_producer_, ++sequence_,
                     {{"out", std::string(r.key), r.id.partition, r.id.offset, 0}});
    core_.ended(r, ekiden::records::reply());
}

} // namespace sim_kafka
