#include <lab/replay/predict.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <queue>
#include <stdexcept>
#include <tuple>

namespace lab::replay {
namespace {

using index = std::uint32_t;
// The thread of the clients, as opposed to the thread of a request.
constexpr index clients = std::numeric_limits<index>::max();

/// An event at a time. Events at the same time happen in the order in which they were planned.
template <class What>
struct planned {
    double at;
    std::uint64_t order;
    What what;
    friend bool operator<(const planned& a, const planned& b) { // a priority_queue pops the greatest
        return std::tie(a.at, a.order) > std::tie(b.at, b.order);
    }
};

/// Processors that all runnable threads share evenly. Each thread runs at full speed if there are enough
/// processors. `work_` is the amount of work that any thread has received since the beginning. A thread ends
/// when this has grown by the thread's own work.
class processors {
public:
    explicit processors(unsigned count) : count_(count) {}

    void begin(index thread, double work_ns, std::uint64_t order) {
        running_.push({work_ + work_ns, order, thread});
    }
    /// Returns when the next thread ends. Infinite if none runs.
    [[nodiscard]] double next(double now) const {
        return running_.empty() ? std::numeric_limits<double>::infinity()
                                : now + std::max(running_.top().at - work_, 0.0) / speed();
    }
    void pass(double ns) { work_ += ns * speed(); }
    index end_next() {
        work_ = std::max(work_, running_.top().at);
        const index thread = running_.top().what;
        running_.pop();
        return thread;
    }

private:
    [[nodiscard]] double speed() const {
        return running_.size() <= count_ ? 1
                                         : static_cast<double>(count_) / static_cast<double>(running_.size());
    }

    unsigned count_;
    double work_ = 0;
    std::priority_queue<planned<index>> running_;
};

class simulation {
public:
    simulation(const schedule& offered, shape formed, const virtual_machine& machine, const costs& each)
        : offers_(offered.offers), formed_(formed), machine_(machine), costs_(each),
          most_waiting_(most_waiting(offered, machine.workers)), processors_(machine.processors),
          queues_(formed == shape::sharded ? machine.workers : 1), keys_(offered.keys) {
        const bool is_one_each = formed == shape::serial || formed == shape::sharded;
        for (queue& q : queues_) q.workers = is_one_each ? 1 : machine.workers;
        found_.ends_ns.resize(offers_.size());
        found_.record.lags_ns.resize(offers_.size());
        found_.record.backlog.resize(offers_.size());
        is_paced_ = offered.is_paced();
    }

    prediction run() {
        plan_sending();
        for (;;) {
            const double timed = timed_.empty() ? std::numeric_limits<double>::infinity() : timed_.top().at;
            const double worked = processors_.next(now_);
            if (std::isinf(timed) && std::isinf(worked)) break;
            const double at = std::min(timed, worked);
            processors_.pass(at - now_);
            now_ = at;
            if (worked <= timed)
                end_of_work(processors_.end_next());
            else
                happen();
        }
        found_.ends_ns.resize(found_.record.sent);
        return std::move(found_);
    }

private:
    enum class step { send, sent, awake, started, waited, key_tried };
    struct event {
        step what;
        index of; // a request, or a queue for `awake`
    };

    struct queue {
        std::deque<index> waiting; // requests; or keys, where these are served in turn
        unsigned workers = 1;
        unsigned busy = 0;   // workers that are neither free nor replaced; temporarily more than `workers`
                             // if a replaced one continues
        unsigned waking = 0; // how many of the free ones are waking
    };

    struct key_state {
        std::deque<index> waiting;
        bool is_taken = false;  // a worker serves it, or it waits for its turn
        bool is_waking = false; // whether the first waiter for its mutex is waking up
        std::size_t batch = 0;  // requests left in this turn
        index latest = 0;       // the latest one that was served, from 1
    };

    // ---- clients

    void plan_sending() {
        if (next_ == offers_.size()) return;
        const auto due = static_cast<double>(offers_[next_].due_ns);
        if (now_ < due)
            plan(due + costs_.lag, {step::send, 0});
        else
            send();
    }

    void send() {
        const auto due = static_cast<double>(offers_[next_].due_ns);
        found_.record.lags_ns[next_] = whole(now_ - std::min(now_, due));
        const std::size_t backlog = next_ - served_;
        found_.record.backlog[next_] = backlog;
        if (is_paced_ && backlog > most_waiting_) return; // gives up
        if (formed_ == shape::thread_per_request && backlog >= most_threads) {
            clients_wait_ = true;
            return;
        }
        post();
    }

    void post() {
        if (machine_.has_clients_processor)
            plan(now_ + costs_.post, {step::sent, 0});
        else
            processors_.begin(clients, costs_.post, order_++);
    }

    void sent() {
        const auto i = static_cast<index>(next_++);
        found_.record.sent = next_;
        arrive(i);
        plan_sending();
    }

    // ---- the model

    [[nodiscard]] bool is_keyed() const { return formed_ == shape::keyed || formed_ == shape::elastic_keyed; }
    [[nodiscard]] bool is_elastic() const {
        return formed_ == shape::elastic_keyed || formed_ == shape::elastic_pool;
    }
    [[nodiscard]] key_state& key_of(index i) { return keys_[offers_[i].key]; }
    [[nodiscard]] queue& queue_of(index i) { return queues_[offers_[i].key % queues_.size()]; }

    void arrive(index i) {
        if (formed_ == shape::thread_per_request) return plan(now_ + costs_.wake, {step::started, i});
        queue& q = queue_of(i);
        if (is_keyed()) {
            key_state& key = key_of(i);
            key.waiting.push_back(i);
            if (key.is_taken) return;
            key.is_taken = true;
            q.waiting.push_back(offers_[i].key);
        } else {
            q.waiting.push_back(i);
        }
        wake_one(q);
    }

    /// Wakes a worker if one sleeps and there is a request for it.
    void wake_one(queue& q) {
        if (q.busy + q.waking >= q.workers || q.waking >= q.waiting.size()) return;
        ++q.waking;
        plan(now_ + costs_.wake, {step::awake, static_cast<index>(&q - queues_.data())});
    }

    void awake(queue& q) {
        --q.waking;
        take(q);
    }

    /// A free worker dequeues the first request, if there is one.
    void take(queue& q) {
        if (q.waiting.empty() || q.busy >= q.workers) return;
        ++q.busy;
        const index first = q.waiting.front();
        q.waiting.pop_front();
        if (!is_keyed()) return begin(first);
        keys_[first].batch = keys_[first].waiting.size();
        begin_next_of(keys_[first]);
    }

    void begin_next_of(key_state& key) {
        --key.batch;
        const index i = key.waiting.front();
        key.waiting.pop_front();
        work(i);
    }

    void begin(index i) {
        if (formed_ == shape::mutex_per_key) {
            key_state& key = key_of(i);
            if (key.is_taken) return key.waiting.push_back(i);
            key.is_taken = true;
        }
        work(i);
    }

    void work(index i) {
        processors_.begin(i, costs_.overhead + static_cast<double>(offers_[i].turns), order_++);
    }

    void end_of_work(index thread) {
        if (thread == clients) return sent();
        if (offers_[thread].block_ns == 0) return end(thread);
        plan(now_ + static_cast<double>(offers_[thread].block_ns) + costs_.sleep, {step::waited, thread});
        if (is_elastic() && replaced_ < spare_threads) {
            ++replaced_;
            queue& q = queue_of(thread);
            --q.busy;
            wake_one(q);
        } else {
            ++held_;
        }
    }

    /// A request continues after its wait.
    void go_on(index i) {
        if (held_ > 0) // it does not matter which ones were replaced
            --held_;
        else {
            --replaced_;
            ++queue_of(i).busy;
        }
        end(i);
    }

    void end(index i) {
        ++served_;
        found_.ends_ns[i] = whole(now_);
        key_state& key = key_of(i);
        if (i + 1 < key.latest)
            ++found_.overtaken;
        else
            key.latest = i + 1;
        if (formed_ == shape::thread_per_request) return end_of_thread();
        queue& q = queue_of(i);
        if (is_keyed()) {
            if (key.batch > 0) return begin_next_of(key);
            key.is_taken = !key.waiting.empty();
            if (key.is_taken) q.waiting.push_back(offers_[i].key);
        } else if (formed_ == shape::mutex_per_key) {
            unlock(key);
        }
        --q.busy;
        take(q);
    }

    void end_of_thread() {
        if (!clients_wait_) return;
        clients_wait_ = false;
        post();
    }

    /// The first waiter for the key wakes up and tries again. Meanwhile, any other worker may take the key.
    void unlock(key_state& key) {
        key.is_taken = false;
        if (key.waiting.empty() || key.is_waking) return;
        key.is_waking = true;
        plan(now_ + costs_.wake, {step::key_tried, key.waiting.front()});
    }

    void try_key(index i) {
        key_state& key = key_of(i);
        key.is_waking = false;
        if (key.is_taken) return; // it waits until the key is unlocked again
        key.waiting.pop_front();
        key.is_taken = true;
        work(i);
    }

    // ---- time

    void plan(double at, event what) { timed_.push({at, order_++, what}); }

    void happen() {
        const event e = timed_.top().what;
        timed_.pop();
        switch (e.what) {
        case step::send:
            return send();
        case step::sent:
            return sent();
        case step::awake:
            return awake(queues_[e.of]);
        case step::started:
            return work(e.of);
        case step::waited:
            return go_on(e.of);
        case step::key_tried:
            return try_key(e.of);
        }
    }

    static std::uint64_t whole(double ns) { return static_cast<std::uint64_t>(std::llround(ns)); }

    const std::vector<offer>& offers_;
    shape formed_;
    virtual_machine machine_;
    costs costs_;
    std::size_t most_waiting_;
    bool is_paced_ = false;
    double now_ = 0;
    std::uint64_t order_ = 0;
    processors processors_;
    std::priority_queue<planned<event>> timed_;
    std::vector<queue> queues_;
    std::vector<key_state> keys_;
    std::size_t next_ = 0; // the next request to send
    std::size_t served_ = 0;
    unsigned replaced_ = 0; // waiting workers of an elastic pool that were replaced
    unsigned held_ = 0;     // waiting workers that were not replaced
    bool clients_wait_ = false;
    prediction found_;
};

} // namespace

prediction predict(const schedule& offered, shape formed, const virtual_machine& machine, const costs& each) {
    if (machine.processors == 0 || machine.workers == 0)
        throw std::invalid_argument("predict: " + std::to_string(machine.processors) + " processors and "
                                    + std::to_string(machine.workers)
                                    + " workers; at least 1 of each is needed");
    return simulation(offered, formed, machine, each).run();
}

} // namespace lab::replay
