/// A worker process in the simulation: the worker's logic, with a driver that uses simulated messages. It has
/// lanes, a member of the group, and a producer. It checks that the logic keeps its promises to the driver.
#pragma once

#include "cluster.hpp"

#include <ekiden/kafka/detail/worker_core.hpp>
#include <ekiden/sim/link.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sim_kafka {

namespace core = ekiden::kafka::detail;

/// What the whole test knows of the functions that have run.
struct observations {
    std::map<std::pair<std::int32_t, std::int64_t>, unsigned> failures_left;
    std::uint64_t begun = 0;
    std::uint64_t repeated = 0; ///< functions that have begun for records that had been run before
    std::set<std::pair<std::int32_t, std::int64_t>> seen;
    std::size_t payloads = 0; ///< that have not been released
};

/// A connection to the broker. While it is stalled, its requests wait, and their senders repeat them on the
/// other connection. So they can be handled after later requests. Used in the broker's context.
class connection {
public:
    connection(ekiden::sim_context& here, cluster& c, const char* name) : link(here, c.place, name) {}
    void stall(ekiden::sim_context& broker, std::chrono::nanoseconds length);
    void handle(std::function<void()> request) {
        if (is_stalled_) return waiting_.push_back(std::move(request));
        request();
    }
    ekiden::sim::link link;

private:
    bool is_stalled_ = false;
    std::vector<std::function<void()>> waiting_;
};

/// A machine on which one process after the other runs. Its connections survive its processes, so a message
/// of a killed process can arrive later. After a time-out, a process uses the other connection. So a request
/// that has timed out can arrive after later requests.
struct place_of_worker {
    place_of_worker(cluster& c, const char* name)
        : context({.name = name, .in_order = true}), wires{{{context, c, name}, {context, c, name}}} {}
    ekiden::sim_context context;
    std::array<connection, 2> wires;
    std::size_t current = 0; ///< the connection that is used
};

class process final : public core::broker_link,
                      public member_port,
                      public std::enable_shared_from_this<process> {
public:
    process(cluster& c, place_of_worker& place, observations& seen, core::core_options chosen);
    ~process();
    void start();
    /// Stops the process for some time, as SIGSTOP and SIGCONT do.
    void pause(std::chrono::milliseconds length);
    /// Ends without a message to anybody, as by SIGKILL.
    void kill();
    void close();
    [[nodiscard]] bool is_over() const { return is_over_; }
    [[nodiscard]] bool has_failed() const { return core_.failure().has_value(); }

private:
    struct fetch {
        std::uint64_t epoch = 0;
        std::int64_t position = -1;   // unknown until the committed offset has been read
        core::done_offsets done;      // when the assignment began
        std::size_t alive = 0;        // payloads
        std::size_t running = 0;      // functions
        moment limit = moment::max(); // of the revocation
    };
    struct lane_state {
        std::deque<core::held_record*> queue;
        bool is_busy = false;
    };
    struct step { // of a transaction
        enum kind : std::uint8_t { outputs, offsets, end, abort } now = outputs;
        core::commit_batch* batch = nullptr;
        std::uint64_t number = 0;
        std::int64_t sequence = 0;
        bool has_timed_out = false;
        bool has_sent_outputs = false;
    };
    struct token {
        std::uint64_t member;
        std::int32_t generation;
    };
    struct payload {
        std::int32_t partition;
        std::uint64_t epoch;
    };

    // broker_link
    void load(std::int32_t partition, std::uint64_t epoch) override;
    void start(std::span<core::held_record* const> ready) override;
    void release(void* bytes) noexcept override;
    void commit(core::commit_batch& batch) override;
    void repeat(core::commit_batch& batch) override;
    void abort(core::commit_batch& batch) override;
    void renew_producer() override;
    void unassign(std::span<const std::int32_t> partitions) override;
    void wake() noexcept override;
    // member_port
    void revoke(std::uint64_t member, std::int32_t generation, std::vector<std::int32_t> what) override;
    void assign(std::uint64_t member, std::int32_t generation, std::vector<std::int32_t> what) override;

    void tell(const std::string& what) const;
    template <class F>
    void run(F&& f);
    template <class F>
    void later(F&& f);
    template <class F>
    void after(std::chrono::nanoseconds delay, F&& f);
    template <class Result>
    void call(const char* what, std::function<Result(cluster&)> at_broker,
              std::function<void(const Result*)> done);
    void tick();
    void poll();
    void fetch_from(std::int32_t partition, fetch& from);
    void beat();
    void join();
    void enter();
    void lose();
    void take_step();
    void step_ended(const answer* result);
    [[nodiscard]] offsets offsets_of(const core::commit_batch& batch) const;
    [[nodiscard]] std::vector<output_entry> outputs_of(const core::commit_batch& batch) const;
    void run_lane(const std::pair<std::int32_t, std::string>& key);
    void begin(core::held_record& r, std::pair<std::int32_t, std::string> key);
    void end(core::held_record& r, const std::pair<std::int32_t, std::string>& key);
    void end_elsewhere(core::held_record& r);
    void leave();
    void check_clean_end();

    cluster& cluster_;
    place_of_worker& place_;
    observations& seen_;
    const core::core_options options_;
    ekiden::steady_timer tick_timer_;
    moment ticks_at_ = moment::max();
    bool is_over_ = false;
    bool is_paused_ = false;
    bool is_leaving_ = false;
    bool is_joining_ = false;
    bool wakes_ = false;
    std::deque<std::function<void()>> backlog_; // events of the time in which the process was stopped

    std::uint64_t member_ = 0;
    std::int32_t generation_ = 0;
    std::map<std::int32_t, fetch> assigned_; // until unassign()
    bool is_revoking_ = false;
    std::int64_t epoch_ = -1;      // of the producer
    std::int64_t late_epoch_ = -2; // of the last request that has timed out
    std::int64_t sequence_ = 0;
    step step_;

    std::map<std::pair<std::int32_t, std::string>, lane_state> lanes_;
    std::map<std::pair<std::int32_t, std::string>, bool> running_;
    std::map<std::pair<std::uint64_t, std::string>, std::int64_t> last_begun_; // by epoch and key
    std::set<std::pair<std::uint64_t, std::int64_t>> finished_;                // by epoch and offset
    std::set<std::pair<std::uint64_t, std::int64_t>> begun_;                   // by epoch and offset
    const std::uint64_t plain_producer_;
    core::worker_core core_;
};

inline constexpr std::chrono::seconds call_limit{1}; // like socket.timeout.ms

/// Runs an event of this process: later if the process is stopped, and never if it has ended.
template <class F>
void process::run(F&& f) {
    if (is_over_) return;
    if (is_paused_) return backlog_.push_back(std::forward<F>(f));
    f();
}

template <class F>
void process::later(F&& f) {
    place_.context.get_executor().post([self = weak_from_this(), f = std::forward<F>(f)]() mutable {
        if (const auto p = self.lock()) p->run(std::move(f));
    });
}

template <class F>
void process::after(std::chrono::nanoseconds delay, F&& f) {
    const auto timer = std::make_shared<ekiden::steady_timer>(place_.context, delay);
    timer->async_wait([timer, self = weak_from_this(), f = std::forward<F>(f)](std::error_code) mutable {
        if (const auto p = self.lock()) p->run(std::move(f));
    });
}

/// Calls the broker. Without an answer within the limit, the result is empty. The request can still arrive.
template <class Result>
void process::call(const char* what, std::function<Result(cluster&)> at_broker,
                   std::function<void(const Result*)> done) {
    const auto is_answered = std::make_shared<bool>(false);
    const auto ended = std::make_shared<std::function<void(const Result*)>>(std::move(done));
    const auto complete = [is_answered, ended](const Result* got) {
        if (!std::exchange(*is_answered, true)) (*ended)(got);
    };
    auto& wire = place_.wires[place_.current];
    auto request = [&c = cluster_, &wire, complete, self = weak_from_this(), at = std::move(at_broker)] {
        const Result got = at(c);
        (void)wire.link.send_back([self, complete, got] {
            if (const auto p = self.lock()) p->run([complete, got] { complete(&got); });
        });
    };
    auto only_once = std::make_unique<std::function<void()>>(std::move(request));
    const bool was_sent = wire.link.send([&wire, once = std::move(only_once)] { wire.handle(*once); });
    (void)was_sent;
    (void)what;
    after(call_limit, [this, complete, is_answered] {
        // A consumer's commit that overtakes an older one would be undone by it, so its order is kept.
        if (!*is_answered && options_.is_transactional) place_.current = 1 - place_.current;
        complete(nullptr);
    });
}

} // namespace sim_kafka
