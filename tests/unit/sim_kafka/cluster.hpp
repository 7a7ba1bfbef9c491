/// A simulated Kafka cluster: logs of partitions, a group with generations and sessions, committed offsets,
/// and transactions. It shares no code with the worker.
#pragma once

#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/sim_context.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sim_kafka {

using moment = ekiden::steady_timer::clock_type::time_point;
inline moment now() { return ekiden::steady_timer::now(); }

/// The answers of a broker. They are the classes of errors that a client makes of them.
enum class answer : std::uint8_t { ok, retriable, abortable, fatal, fenced, unknown_member };

/// An entry of the input log. A marker or an aborted record is a hole for readers of committed records.
struct input_entry {
    std::int64_t offset = 0;
    std::string key;
    bool is_hole = false;
    unsigned failures = 0; ///< how many calls of the function fail
};

/// A record that a worker has sent: to "out", to "dead", or to "dead.parked".
struct output_entry {
    std::string topic;
    std::string key;
    std::int32_t partition = 0;    ///< of the input record
    std::int64_t offset = 0;       ///< of the input record
    std::uint64_t transaction = 0; ///< 0 if it was sent without a transaction
};

struct stored_offset {
    std::int64_t offset = -1;
    std::string metadata;
};
using offsets = std::map<std::int32_t, stored_offset>;

/// What a member of the group hears from the coordinator. These calls are made in the coordinator's context.
class member_port {
public:
    virtual void revoke(std::uint64_t member, std::int32_t generation, std::vector<std::int32_t> what) = 0;
    virtual void assign(std::uint64_t member, std::int32_t generation, std::vector<std::int32_t> what) = 0;

protected:
    ~member_port() = default;
};

class cluster {
public:
    cluster(ekiden::sim_context& place, std::size_t partitions);

    ekiden::sim_context& place;
    std::vector<std::vector<input_entry>> input;
    std::vector<std::size_t> visible; ///< number of entries that have been produced so far
    std::vector<output_entry> output;
    std::chrono::milliseconds session{10'000};
    std::chrono::milliseconds transaction_timeout{12'000};

    // ---- the group
    /// The answer to the first request to join. As since Kafka 2.2 (KIP-394), it only names the new member.
    /// If this answer is late or lost, no member is left in the group that owns partitions unknown to the
    /// process.
    [[nodiscard]] std::uint64_t new_member();
    /// A member that the process knows enters the group. Returns false for a member that is not known any
    /// more.
    [[nodiscard]] bool join(std::uint64_t member, std::weak_ptr<member_port> port);
    void leave(std::uint64_t member);
    /// Returns false for a member that is not known any more.
    [[nodiscard]] bool heartbeat(std::uint64_t member);
    void released(std::uint64_t member, const std::vector<std::int32_t>& what);
    void rebalance();
    void expire_members();
    [[nodiscard]] std::uint64_t owner(std::int32_t partition) const { return owners_[index(partition)]; }
    [[nodiscard]] std::int32_t generation() const { return generation_; }

    // ---- offsets
    [[nodiscard]] answer commit_offsets(std::uint64_t member, std::int32_t generation, const offsets& what);
    /// Empty if a transaction with offsets of this partition is not finished.
    [[nodiscard]] std::optional<stored_offset> fetch_offset(std::int32_t partition) const;
    [[nodiscard]] const stored_offset& stored(std::int32_t partition) const {
        return stored_[index(partition)];
    }
    void store_foreign(std::int32_t partition, stored_offset what) {
        stored_[index(partition)] = std::move(what);
    }
    [[nodiscard]] std::set<std::string> parked(std::int32_t partition) const;

    // ---- producers
    /// Without a transaction, by an idempotent producer.
    void produce(std::uint64_t producer, std::int64_t sequence, std::vector<output_entry> what);
    [[nodiscard]] std::uint64_t new_producer() { return ++last_producer_; }
    [[nodiscard]] std::int64_t init_producer(const std::string& id);
    [[nodiscard]] answer produce(const std::string& id, std::int64_t epoch, std::int64_t sequence,
                                 std::vector<output_entry> what);
    [[nodiscard]] answer send_offsets(const std::string& id, std::int64_t epoch, std::uint64_t member,
                                      std::int32_t generation, const offsets& what);
    [[nodiscard]] answer end_transaction(const std::string& id, std::int64_t epoch, bool commits);
    void expire_transactions();
    /// Returns whether readers of committed records see this output.
    [[nodiscard]] bool is_visible(const output_entry& of) const {
        return of.transaction == 0 || committed_.contains(of.transaction);
    }
    [[nodiscard]] bool has_open_transactions() const;

private:
    struct producer_state {
        std::int64_t epoch = -1;
        std::int64_t last_sequence = -1;
        std::uint64_t open = 0;     // the number of the open transaction, or 0
        bool has_committed = false; // the end of the last transaction
        moment begun{};
        offsets pending;
    };
    struct member_state {
        std::weak_ptr<member_port> port;
        moment deadline;
    };

    static std::size_t index(std::int32_t partition) { return static_cast<std::size_t>(partition); }
    [[nodiscard]] answer check_group(std::uint64_t member, std::int32_t generation,
                                     const offsets& what) const;
    [[nodiscard]] producer_state* find(const std::string& id, std::int64_t epoch);
    void begin_transaction(producer_state& of);
    void end(producer_state& of, bool commits);
    void continue_rebalance();
    void forget(std::uint64_t member);

    std::map<std::uint64_t, member_state> members_;
    std::set<std::uint64_t> pending_; // members that have a name and have not entered
    std::uint64_t last_member_ = 0;
    std::int32_t generation_ = 0;
    std::vector<std::uint64_t> owners_;  // 0 if nobody owns the partition
    std::vector<std::uint64_t> targets_; // of the rebalance in progress
    bool is_rebalancing_ = false;
    bool rebalances_again_ = false;
    std::vector<stored_offset> stored_;
    std::map<std::string, producer_state> producers_;
    std::uint64_t last_transaction_ = 0;
    std::set<std::uint64_t> committed_;
    std::set<std::pair<std::uint64_t, std::int64_t>> sequences_;
    std::uint64_t last_producer_ = 0;
};

} // namespace sim_kafka
