/// Counts what happened to the records of a run: lost, doubled, out of order, run twice, and the longest
/// stalls.
///
/// Used by: the soak of Kafka. Plain data without a client of Kafka, so tests can feed it by hand. Not
/// thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace kafka_soak {

using time_point = std::chrono::steady_clock::time_point;
using seconds = std::chrono::duration<double>;

/// The name of an input record: the n-th record of a poster for a key.
struct record_name {
    std::uint32_t poster = 0;
    std::uint32_t key = 0;
    std::uint32_t n = 0;
};

/// The records of each poster and key that a set of observations contains.
class sequences {
public:
    enum class seen { next, ahead, again, late };

    sequences(std::size_t posters, std::size_t keys) : keys_(keys), all_(posters * keys) {}

    /// Adds an observation. A record is `late` if it is seen for the first time after a later record of its
    /// poster and key. It is `ahead` if an earlier one is still missing.
    seen add(const record_name& which) {
        one& s = all_.at(which.poster * keys_ + which.key);
        if (s.flags.size() <= which.n) s.flags.resize(which.n + 1);
        if (s.flags[which.n]) return seen::again;
        s.flags[which.n] = true;
        ++count_;
        if (which.n < s.next) return seen::late;
        const bool gap = which.n > s.next;
        s.next = which.n + 1;
        return gap ? seen::ahead : seen::next;
    }
    [[nodiscard]] bool has(const record_name& which) const {
        return has(which.poster * keys_ + which.key, which.n);
    }
    /// Returns the number of different records.
    [[nodiscard]] std::size_t count() const { return count_; }
    /// Returns the number of records here that neither `a` nor `b` has.
    [[nodiscard]] std::size_t missing_in(const sequences& a, const sequences& b) const {
        std::size_t missing = 0;
        for (std::size_t i = 0; i < all_.size(); ++i)
            for (std::size_t n = 0; n < all_[i].flags.size(); ++n)
                if (all_[i].flags[n] && !a.has(i, n) && !b.has(i, n)) ++missing;
        return missing;
    }

private:
    struct one {
        std::vector<bool> flags;
        std::uint32_t next = 0;
    };
    [[nodiscard]] bool has(std::size_t sequence, std::size_t n) const {
        const one& s = all_.at(sequence);
        return n < s.flags.size() && s.flags[n];
    }

    std::size_t keys_;
    std::vector<one> all_;
    std::size_t count_ = 0;
};

/// The longest times without progress although records waited.
struct stalls {
    seconds whole{0}; ///< no partition made progress
    seconds kept{0};  ///< a partition that stayed with its worker
    seconds heir{0};  ///< a partition that moved to another worker meanwhile

    void merge(const stalls& other) {
        whole = std::max(whole, other.whole);
        kept = std::max(kept, other.kept);
        heir = std::max(heir, other.heir);
    }
    [[nodiscard]] seconds longest() const { return std::max({whole, kept, heir}); }
};

/// Measures stalls. A stall of a partition begins at its last progress, or when the first record waits there.
class stall_watch {
public:
    explicit stall_watch(std::size_t partitions) : partitions_(partitions) {}

    /// A record waits from now on. Its effect may have been seen already, since two threads report both.
    void waiting(std::size_t partition, time_point now) {
        one& p = partitions_.at(partition);
        if (++p.waiting == 1) begin(p, now);
        if (++waiting_ == 1) whole_since_ = now;
    }
    void owner(std::size_t partition, int process) { partitions_.at(partition).owner = process; }

    /// The effect of a record was seen for the first time.
    void progress(std::size_t partition, time_point now) {
        one& p = partitions_.at(partition);
        if (p.waiting-- > 0) look_at(p, now);
        if (waiting_-- > 0) note(worst_.whole, now - whole_since_);
        begin(p, now);
        whole_since_ = now;
    }
    /// Returns the worst stalls since the last call. Includes stalls that still last.
    [[nodiscard]] stalls take(time_point now) {
        for (one& p : partitions_)
            if (p.waiting > 0) look_at(p, now);
        if (waiting_ > 0) note(worst_.whole, now - whole_since_);
        return std::exchange(worst_, {});
    }
    [[nodiscard]] std::ptrdiff_t waiting() const { return waiting_; }

private:
    struct one {
        std::ptrdiff_t waiting = 0;
        time_point since;
        int owner = 0, owner_then = 0;
    };
    static void begin(one& p, time_point now) {
        p.since = now;
        p.owner_then = p.owner;
    }
    void look_at(const one& p, time_point now) {
        note(p.owner == p.owner_then ? worst_.kept : worst_.heir, now - p.since);
    }
    static void note(seconds& worst, seconds found) { worst = std::max(worst, found); }

    std::vector<one> partitions_;
    std::ptrdiff_t waiting_ = 0;
    time_point whole_since_;
    stalls worst_;
};

/// Counts calls of functions, as the workers report them.
class call_watch {
public:
    call_watch(std::size_t posters, std::size_t keys) : ran_(posters, keys) {}

    /// A function has begun. `attempt` is 1 unless the same process has tried the record before.
    void began(int process, const record_name& which, unsigned attempt) {
        if (attempt == 1 && ran_.add(which) == sequences::seen::again) ++again_;
        if (running_[{process, which.key}]++ > 0) ++overlaps_;
    }
    void ended(int process, const record_name& which) {
        const auto at = running_.find({process, which.key});
        if (at != running_.end() && --at->second <= 0) running_.erase(at);
    }
    /// Forgets the functions that a dead process was running.
    void died(int process) {
        std::erase_if(running_, [process](const auto& one) { return one.first.first == process; });
    }
    [[nodiscard]] std::size_t again() const { return again_; }       ///< functions run more than once
    [[nodiscard]] std::size_t overlaps() const { return overlaps_; } ///< two of a key at once in a process

private:
    sequences ran_;
    std::map<std::pair<int, std::uint32_t>, int> running_;
    std::size_t again_ = 0, overlaps_ = 0;
};

/// The effects of a run, as a reader of the outputs sees them.
struct outcome {
    std::size_t doubled = 0, order_violations = 0, unknown = 0;

    /// Adds an effect. `sent` are the records that posters have sent.
    sequences::seen add(sequences& effects, const sequences& sent, const record_name& which) {
        const sequences::seen how = effects.add(which);
        if (how == sequences::seen::again) ++doubled;
        if (how == sequences::seen::late) ++order_violations;
        if (!sent.has(which)) ++unknown;
        return how;
    }
};

} // namespace kafka_soak
