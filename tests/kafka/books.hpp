/// The books of a run of the soak: the tallies, and what the run was asked to do.
///
/// Used by: the threads of the soak. Thread-safe.
#pragma once

#include <tests/kafka/journal.hpp>
#include <tests/kafka/tally.hpp>
#include <tests/kafka/work.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace kafka_soak {

struct plan {
    std::string brokers, mode, worker, folder, cluster, script, chaos;
    std::uint32_t records = 1'000'000, keys = 10'000, posters = 2, partitions = 6, workers = 3, seed = 1;
    std::uint32_t backlog = 30'000; ///< the records that wait at most; the posters keep to it
    std::uint32_t work_us = 1000, poison = 10'000, slow_rank = 2'000, zipf_percent = 100;
    std::uint32_t session_ms = 6'000, transaction_ms = 10'000, every_s = 10, bound_ms = 0, held = 1'000;
    std::string in = "in", out = "out", dead = "dead", group = "soak";

    explicit plan(const arguments& given)
        : brokers(given.text("brokers")), mode(given.text("mode", "exactly_once")),
          worker(given.text("worker")), folder(given.text("folder", ".")), cluster(given.text("cluster")),
          script(given.text("script")),
          chaos(given.text("chaos", "kill,stop,kill,leader,kill,move,kill,rolling")) {
        const auto set = [&given](std::uint32_t& value, const char* name) {
            value = given.number(name, value);
        };
        set(records, "records"), set(keys, "keys"), set(posters, "posters"), set(partitions, "partitions");
        set(workers, "workers"), set(seed, "seed"), set(backlog, "backlog"), set(work_us, "work-us");
        set(poison, "poison"), set(slow_rank, "slow-rank"), set(zipf_percent, "zipf-percent");
        set(session_ms, "session-ms"), set(transaction_ms, "transaction-ms"), set(every_s, "every-s");
        set(bound_ms, "bound-ms"), set(held, "held");
        if (mode != "exactly_once" && mode != "at_least_once" && mode != "effects")
            throw std::invalid_argument("mode is '" + mode
                                        + "'; allowed are exactly_once, at_least_once, effects");
        if (brokers.empty() || worker.empty())
            throw std::invalid_argument("--brokers and --worker are required");
        if (keys == 0 || posters == 0 || partitions == 0 || workers == 0)
            throw std::invalid_argument("keys, posters, partitions and workers are at least 1");
        // The run of a wrong worker in the same cluster must not read what another run has left.
        const std::string own = given.text("name", mode);
        for (std::string* name : {&in, &out, &dead, &group}) *name += "-" + own;
    }
    /// The session time-outs of worker and broker, the time-out of transactions, the broker's scan, and 2 s.
    /// tools/kafka.sh sets those of the broker.
    [[nodiscard]] seconds stall_bound() const {
        if (bound_ms > 0) return std::chrono::milliseconds(bound_ms);
        return std::chrono::milliseconds(session_ms + 3'000 + transaction_ms + 1'000 + 2'000);
    }
};

class books {
public:
    explicit books(const plan& p)
        : plan_(p), sent_(p.posters, p.keys), effects_(p.posters, p.keys), dead_(p.posters, p.keys),
          stalls_(p.partitions), calls_(p.posters, p.keys), partition_of_(p.keys, -1) {}

    void sent(const record_name& which) {
        const std::lock_guard lock(mutex_);
        sent_.add(which);
    }
    void acknowledged(std::uint32_t key, std::int32_t partition) {
        const std::lock_guard lock(mutex_);
        partition_of_[key] = partition;
        ++acknowledged_;
        stalls_.waiting(static_cast<std::size_t>(partition), now());
    }
    /// An effect became visible, in the output or in the topic of dead letters.
    void effect(const input& what, bool is_dead) {
        const std::lock_guard lock(mutex_);
        if (is_dead != (what.kind == 'x')) ++misplaced_;
        const auto how =
            (is_dead ? dead_result_.add(dead_, sent_, what.which) : result_.add(effects_, sent_, what.which));
        const std::int32_t partition = partition_of_[what.which.key];
        if (how != sequences::seen::again && what.kind != 's') count_usual();
        if (how != sequences::seen::again && partition >= 0)
            stalls_.progress(static_cast<std::size_t>(partition), now());
    }
    /// A worker has reported. Returns the answer to an effect.
    bool reported(const journal_entry& e) {
        const std::lock_guard lock(mutex_);
        switch (e.what) {
        case journal_entry::kind::began:
            calls_.began(e.process, e.which, e.attempt);
            stalls_.owner(static_cast<std::size_t>(e.partition), e.process);
            return true;
        case journal_entry::kind::ended:
            calls_.ended(e.process, e.which);
            return true;
        case journal_entry::kind::effect:
            break;
        }
        const auto [at, fresh] = last_.try_emplace({e.partition, e.which.key}, -1);
        if (e.offset <= at->second) return false;
        at->second = e.offset;
        const auto how = result_.add(effects_, sent_, e.which);
        if (how != sequences::seen::again) count_usual();
        if (how != sequences::seen::again) stalls_.progress(static_cast<std::size_t>(e.partition), now());
        return true;
    }
    void died(int process) {
        const std::lock_guard lock(mutex_);
        calls_.died(process);
    }
    [[nodiscard]] stalls take_stalls() {
        const std::lock_guard lock(mutex_);
        return stalls_.take(now());
    }
    [[nodiscard]] std::size_t waiting() const {
        const std::lock_guard lock(mutex_);
        const std::size_t seen = effects_.count() + dead_.count();
        return sent_.count() > seen ? sent_.count() - seen : 0;
    }
    [[nodiscard]] std::size_t visible() const {
        const std::lock_guard lock(mutex_);
        return effects_.count() + dead_.count();
    }
    struct counts {
        std::size_t sent, acknowledged, visible, lost, doubled, dead_doubled, order_violations, unknown,
            misplaced, again, overlaps;
    };
    /// Compares all records, so it takes milliseconds.
    [[nodiscard]] counts count() const {
        const std::lock_guard lock(mutex_);
        return {.sent = sent_.count(),
                .acknowledged = acknowledged_,
                .visible = effects_.count() + dead_.count(),
                .lost = sent_.missing_in(effects_, dead_),
                .doubled = result_.doubled,
                .dead_doubled = dead_result_.doubled,
                .order_violations = result_.order_violations + dead_result_.order_violations,
                .unknown = result_.unknown + dead_result_.unknown,
                .misplaced = misplaced_,
                .again = calls_.again(),
                .overlaps = calls_.overlaps()};
    }
    [[nodiscard]] const plan& asked() const { return plan_; }

    /// Records per second without the records that take a thousand times as long, from the first effect to
    /// the last.
    [[nodiscard]] double usual_rate() const {
        const std::lock_guard lock(mutex_);
        const seconds time = last_usual_ - first_usual_;
        return time.count() > 0 ? static_cast<double>(usual_) / time.count() : 0;
    }

private:
    void count_usual() {
        last_usual_ = now();
        if (usual_++ == 0) first_usual_ = last_usual_;
    }
    static time_point now() { return std::chrono::steady_clock::now(); }

    const plan plan_;
    mutable std::mutex mutex_;
    sequences sent_, effects_, dead_;
    stall_watch stalls_;
    call_watch calls_;
    outcome result_, dead_result_;
    std::vector<std::int32_t> partition_of_;
    std::map<std::pair<std::int32_t, std::uint32_t>, std::int64_t> last_; // the newest effect of a key
    std::size_t acknowledged_ = 0, misplaced_ = 0, usual_ = 0;
    time_point first_usual_, last_usual_;
};

} // namespace kafka_soak
