#include "cluster.hpp"

#include <algorithm>

namespace sim_kafka {

using ekiden::sim::expect;

namespace {
constexpr std::size_t most_metadata = 4096;
}

cluster::cluster(ekiden::sim_context& at, std::size_t partitions)
    : place(at), input(partitions), visible(partitions), owners_(partitions), targets_(partitions),
      stored_(partitions) {}

// ---- the group

std::uint64_t cluster::new_member() {
    pending_.insert(++last_member_);
    return last_member_;
}

bool cluster::join(std::uint64_t member, std::weak_ptr<member_port> port) {
    if (pending_.erase(member) == 0) return heartbeat(member);
    members_[member] = {std::move(port), now() + session};
    rebalance();
    return true;
}

void cluster::forget(std::uint64_t member) {
    members_.erase(member);
    std::replace(owners_.begin(), owners_.end(), member, std::uint64_t{0});
}

void cluster::leave(std::uint64_t member) {
    pending_.erase(member);
    if (!members_.contains(member)) return;
    forget(member);
    rebalance();
}

bool cluster::heartbeat(std::uint64_t member) {
    const auto at = members_.find(member);
    if (at == members_.end()) return false;
    at->second.deadline = now() + session;
    return true;
}

void cluster::expire_members() {
    std::vector<std::uint64_t> over;
    for (const auto& [id, member] : members_)
        if (member.deadline <= now()) over.push_back(id);
    if (over.empty()) return;
    for (const std::uint64_t id : over) forget(id);
    ekiden::sim::reached("a session has expired");
    rebalance();
}

/// A cooperative rebalance: partitions that move are revoked first, in a generation that is in force already.
/// When all have been given back, the next generation assigns them.
void cluster::rebalance() {
    if (is_rebalancing_) {
        rebalances_again_ = true;
        return continue_rebalance();
    }
    ++generation_;
    is_rebalancing_ = true;
    std::vector<std::uint64_t> ids;
    for (const auto& [id, member] : members_) ids.push_back(id);
    for (std::uint64_t& target : targets_)
        target = ids.empty() ? 0 : ids[ekiden::sim::choose(static_cast<std::uint32_t>(ids.size()))];
    for (const auto& [id, member] : members_) {
        std::vector<std::int32_t> moves;
        for (std::size_t p = 0; p != owners_.size(); ++p)
            if (owners_[p] == id && targets_[p] != id) moves.push_back(static_cast<std::int32_t>(p));
        const auto port = member.port.lock();
        if (!moves.empty() && port) port->revoke(id, generation_, moves);
    }
    continue_rebalance();
}

void cluster::continue_rebalance() {
    for (std::size_t p = 0; p != owners_.size(); ++p)
        if (owners_[p] != 0 && owners_[p] != targets_[p]) return;
    ++generation_;
    is_rebalancing_ = false;
    for (const auto& [id, member] : members_) {
        std::vector<std::int32_t> fresh;
        for (std::size_t p = 0; p != owners_.size(); ++p)
            if (owners_[p] == 0 && targets_[p] == id) fresh.push_back(static_cast<std::int32_t>(p));
        for (const std::int32_t p : fresh) owners_[index(p)] = id;
        if (const auto port = member.port.lock()) port->assign(id, generation_, fresh);
    }
    const bool is_unowned = std::find(owners_.begin(), owners_.end(), 0U) != owners_.end();
    if (std::exchange(rebalances_again_, false) || (is_unowned && !members_.empty())) rebalance();
}

void cluster::released(std::uint64_t member, const std::vector<std::int32_t>& what) {
    for (const std::int32_t p : what)
        if (owners_[index(p)] == member) owners_[index(p)] = 0;
    if (is_rebalancing_) continue_rebalance();
}

// ---- offsets

answer cluster::check_group(std::uint64_t member, std::int32_t generation, const offsets& what) const {
    if (!members_.contains(member)) return answer::unknown_member;
    if (generation != generation_) return answer::abortable;
    for (const auto& [partition, offset] : what) {
        if (offset.metadata.size() > most_metadata) return answer::abortable;
        // A real broker does not check this. A worker that relies on the broker loses records. A request that
        // was sent before its partition was given back can arrive later, while nobody owns the partition: the
        // next owner begins with the next generation, and then this request is refused.
        const std::uint64_t owner = owners_[index(partition)];
        expect(owner == member || owner == 0, "a commit names a partition that the worker has lost");
    }
    return answer::ok;
}

answer cluster::commit_offsets(std::uint64_t member, std::int32_t generation, const offsets& what) {
    const answer checked = check_group(member, generation, what);
    if (checked != answer::ok) return checked;
    for (const auto& [partition, offset] : what) stored_[index(partition)] = offset;
    return answer::ok;
}

std::optional<stored_offset> cluster::fetch_offset(std::int32_t partition) const {
    for (const auto& [id, producer] : producers_)
        if (producer.open != 0 && producer.pending.contains(partition)) return {};
    return stored(partition);
}

std::set<std::string> cluster::parked(std::int32_t partition) const {
    std::set<std::string> keys;
    for (const output_entry& o : output)
        if (o.topic == "dead.parked" && o.partition == partition && is_visible(o)) keys.insert(o.key);
    return keys;
}

// ---- producers

void cluster::produce(std::uint64_t producer, std::int64_t sequence, std::vector<output_entry> what) {
    if (!sequences_.emplace(producer, sequence).second) return;
    output.insert(output.end(), what.begin(), what.end());
}

std::int64_t cluster::init_producer(const std::string& id) {
    producer_state& of = producers_[id];
    if (of.open != 0) end(of, false);
    of.last_sequence = -1;
    of.has_committed = false;
    return ++of.epoch;
}

cluster::producer_state* cluster::find(const std::string& id, std::int64_t epoch) {
    producer_state& of = producers_[id];
    return of.epoch == epoch ? &of : nullptr;
}

void cluster::begin_transaction(producer_state& of) {
    if (of.open != 0) return;
    of.open = ++last_transaction_;
    of.begun = now();
    of.has_committed = false;
}

answer cluster::produce(const std::string& id, std::int64_t epoch, std::int64_t sequence,
                        std::vector<output_entry> what) {
    producer_state* const of = find(id, epoch);
    if (of == nullptr) return answer::fenced;
    if (sequence <= of->last_sequence) return answer::ok; // an idempotent producer's repeated request
    of->last_sequence = sequence;
    begin_transaction(*of);
    for (output_entry& o : what) {
        o.transaction = of->open;
        output.push_back(std::move(o));
    }
    return answer::ok;
}

answer cluster::send_offsets(const std::string& id, std::int64_t epoch, std::uint64_t member,
                             std::int32_t generation, const offsets& what) {
    producer_state* const of = find(id, epoch);
    if (of == nullptr) return answer::fenced;
    const answer checked = check_group(member, generation, what);
    if (checked != answer::ok) return answer::abortable;
    begin_transaction(*of);
    for (const auto& [partition, offset] : what) of->pending[partition] = offset;
    return answer::ok;
}

answer cluster::end_transaction(const std::string& id, std::int64_t epoch, bool commits) {
    producer_state* const of = find(id, epoch);
    if (of == nullptr) return answer::fenced;
    if (of->open == 0) return !commits || of->has_committed ? answer::ok : answer::fatal;
    end(*of, commits);
    return answer::ok;
}

void cluster::end(producer_state& of, bool commits) {
    if (commits) {
        committed_.insert(of.open);
        for (const auto& [partition, offset] : of.pending) stored_[index(partition)] = offset;
    }
    of.pending.clear();
    of.open = 0;
    of.has_committed = commits;
}

void cluster::expire_transactions() {
    for (auto& [id, of] : producers_) {
        if (of.open == 0 || now() < of.begun + transaction_timeout) continue;
        ekiden::sim::reached("a transaction has expired");
        end(of, false);
        ++of.epoch;
    }
}

bool cluster::has_open_transactions() const {
    return std::any_of(producers_.begin(), producers_.end(),
                       [](const auto& p) { return p.second.open != 0; });
}

} // namespace sim_kafka
