#include "bug.hpp"

#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace bugs {
namespace {

// ---- 4. A timeout moves to the session's strand. Meanwhile the next request is started, and the timeout
// cancels it.

template <bool is_repaired>
class session {
public:
    explicit session(sim_context& sim) : sim_(sim), strand_(sim.get_executor()), timer_(sim) {}

    void request(std::chrono::milliseconds answered_after) {
        strand_.post([this, answered_after] { begin(answered_after); });
    }

private:
    void begin(std::chrono::milliseconds answered_after) {
        const int mine = ++generation_;
        begun_ = sim_.elapsed();
        timer_.expires_after(10ms);
        timer_.async_wait([this, mine](std::error_code error) {
            if (!error) strand_.post([this, mine] { time_out(mine); });
        });
        const auto answer = std::make_shared<steady_timer>(sim_, answered_after);
        answer->async_wait(
            [this, mine, answer](std::error_code) { strand_.post([this, mine] { end(mine); }); });
    }
    void end(int answered) {
        if (answered != generation_) return;
        timer_.cancel();
        if (generation_ == 1) begin(1ms);
    }
    void time_out(int expired) {
        if (is_repaired && expired != generation_) return;
        sim::expect(sim_.elapsed() - begun_ >= 10ms, "a request times out in its own time");
        ++generation_;
    }

    sim_context& sim_;
    strand<sim_context::executor_type> strand_;
    steady_timer timer_;
    std::chrono::nanoseconds begun_{};
    int generation_ = 0;
};

template <bool is_repaired>
void stale_timeout(sim_context& sim) {
    session<is_repaired> one(sim);
    one.request(10ms);
    sim.run();
}

// ---- 5. The timeout and the answer both reply.

template <bool is_repaired>
void two_replies(sim_context& sim) {
    sim::exactly_once reply("the reply");
    bool has_replied = false;
    const auto answer_with = [&] {
        if (is_repaired && std::exchange(has_replied, true)) return;
        reply.done();
    };
    steady_timer timeout(sim, 10ms);
    steady_timer backend(sim, 9ms);
    timeout.async_wait([&](std::error_code error) {
        if (!error) answer_with();
    });
    backend.async_wait([&](std::error_code) {
        post(sim, [&] {
            timeout.cancel();
            answer_with();
        });
    });
    sim.run();
}

// ---- 6. A retry is forgotten before cancel() has said whether it will run, so the queue looks empty.

template <bool is_repaired>
class retries {
public:
    explicit retries(sim_context& sim) : sim_(sim) {}

    void add(int id) {
        auto& timer = waiting_.try_emplace(id, sim_, 10ms).first->second;
        timer.async_wait([this, id, alive = life_.watched()](std::error_code error) {
            if (error) return;
            post(sim_, [this, id, alive] {
                alive.expect_alive();
                waiting_.erase(id);
            });
        });
    }
    void cancel(int id) {
        const auto found = waiting_.find(id);
        if (found == waiting_.end()) return;
        const bool will_not_run = found->second.cancel() == 1;
        if (!is_repaired || will_not_run) waiting_.erase(found);
    }
    bool empty() const { return waiting_.empty(); }

private:
    sim_context& sim_;
    std::map<int, steady_timer> waiting_;
    sim::life life_{"the queue of retries"};
};

template <bool is_repaired>
void forgotten_retry(sim_context& sim) {
    std::optional<retries<is_repaired>> queue(std::in_place, sim);
    queue->add(1);
    steady_timer closing(sim, 12ms);
    closing.async_wait([&](std::error_code) {
        queue->cancel(1);
        if (queue->empty()) queue.reset();
    });
    sim.run();
}

// ---- 7. A handler keeps `this`. Its owner is destroyed while the next step is queued.

template <bool is_repaired>
class heartbeat : public std::enable_shared_from_this<heartbeat<is_repaired>> {
public:
    explicit heartbeat(sim_context& sim) : sim_(sim), timer_(sim, 10ms) {}
    void start() {
        const auto self = this->weak_from_this();
        timer_.async_wait([this, self, alive = life_.watched()](std::error_code error) {
            if (error) return;
            post(sim_, [this, self, alive] {
                const auto kept = self.lock();
                if (is_repaired && kept == nullptr) return;
                alive.expect_alive();
                ++beats_;
            });
        });
    }

private:
    sim_context& sim_;
    steady_timer timer_;
    int beats_ = 0;
    sim::life life_{"the heartbeat"};
};

template <bool is_repaired>
void handler_of_the_dead(sim_context& sim) {
    auto owner = std::make_shared<heartbeat<is_repaired>>(sim);
    owner->start();
    steady_timer closing(sim, 12ms);
    closing.async_wait([&](std::error_code) { owner.reset(); });
    sim.run();
}

} // namespace

std::vector<bug> of_timeouts() {
    return {
        {4, "a stale timeout", stale_timeout<false>, stale_timeout<true>, sim::verdict::expectation},
        {5, "timeout and answer both reply", two_replies<false>, two_replies<true>, sim::verdict::count},
        {6, "a retry forgotten too early", forgotten_retry<false>, forgotten_retry<true>, sim::verdict::dead},
        {7, "a handler outlives its owner", handler_of_the_dead<false>, handler_of_the_dead<true>,
         sim::verdict::dead},
    };
}

} // namespace bugs
