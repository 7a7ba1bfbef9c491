#include "bug.hpp"

#include <ekiden/async/await_future.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/then.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace bugs {
namespace {

// ---- 11. The stop drains the queued tasks, but not the tasks that these post.

template <bool is_repaired>
class jobs {
public:
    explicit jobs(sim_context& home)
        : home_(home), pool_(std::in_place, sim_context::options{.name = "jobs"}) {}

    void submit(std::function<void()> job) {
        ++accepted_;
        post(*pool_, [this, job = std::move(job)] {
            job();
            ++finished_;
            end_if_drained();
        });
    }
    void stop() {
        stops_ = true;
        last_ = accepted_;
        end_if_drained();
    }

private:
    void end_if_drained() {
        if (!stops_ || finished_ < (is_repaired ? accepted_ : last_)) return;
        post(home_, [this] { pool_.reset(); });
        stops_ = false;
    }

    sim_context& home_;
    std::optional<sim_context> pool_;
    int accepted_ = 0;
    int finished_ = 0;
    int last_ = 0;
    bool stops_ = false;
};

template <bool is_repaired>
void drained_too_early(sim_context& sim) {
    jobs<is_repaired> server(sim);
    for (int i = 0; i < 2; ++i) {
        server.submit([&] {
            server.submit([] {}); // the second half
        });
    }
    post(sim, [&] { server.stop(); });
    sim.run();
}

// ---- 12. The shutdown drops a queued job. The caller that waits for its result waits forever.

template <bool is_repaired>
class job_queue {
public:
    explicit job_queue(sim_context& sim) : sim_(sim) {}

    future<int> add() {
        const auto result = std::make_shared<promise<int>>();
        queued_.push_back([result] { result->set_value(1); });
        unanswered_.push_back(result);
        post(sim_, [this] {
            if (queued_.empty()) return;
            queued_.front()();
            queued_.pop_front();
            unanswered_.pop_front();
        });
        return result->get_future();
    }
    void shut_down() {
        queued_.clear();
        if (!is_repaired) return;
        for (const auto& each : std::exchange(unanswered_, {})) each->set_value(0); // stopped
    }

private:
    sim_context& sim_;
    std::deque<std::function<void()>> queued_;
    std::deque<std::shared_ptr<promise<int>>> unanswered_;
};

template <bool is_repaired>
void dropped_job(sim_context& sim) {
    job_queue<is_repaired> queue(sim);
    for (int i = 0; i < 2; ++i) co_spawn(sim, [&]() -> coroutine<> { (void)co_await queue.add(); });
    steady_timer closing(sim, 1ms);
    closing.async_wait([&](std::error_code) { queue.shut_down(); });
    sim.run();
}

// ---- 13. A task waits for a task of its own pool, but all threads of the pool may be waiting.

template <bool is_repaired>
void waits_in_its_pool(sim_context&) {
    sim_context pool({.name = "pool"});
    int sum = 0;
    const auto part = [] { return 1; };
    for (int i = 0; i < 2; ++i) {
        const auto other = std::make_shared<future<int>>(pool.get_executor().submit(part));
        post(pool, [&, other] {
            if (is_repaired)
                (void)other->then(pool.get_executor(), [&](future<int> f) { sum += f.get(); });
            else
                sum += other->get();
        });
    }
    pool.run();
    sim::expect(sum == 2, "all parts are summed");
}

// ---- 14. A task waits and helps meanwhile. It runs another task that needs the lock that it holds.

template <bool is_repaired>
void lock_across_a_wait(sim_context&) {
    sim_context pool({.name = "pool", .helps = true});
    mutex guard;
    int total = 0;
    const auto charge = [&](future<int>& price) {
        if constexpr (is_repaired) {
            const int got = price.get();
            const std::lock_guard held(guard);
            total += got;
        } else {
            const std::lock_guard held(guard);
            total += price.get();
        }
    };
    std::array<future<int>, 2> prices;
    for (auto& price : prices) {
        price = pool.get_executor().submit([] { return 1; });
        post(pool, [&] { charge(price); });
    }
    pool.run();
    sim::expect(total == 2, "both are charged");
}

} // namespace

std::vector<bug> of_shutdown() {
    return {
        {11, "drained too early", drained_too_early<false>, drained_too_early<true>, sim::verdict::lost},
        {12, "a dropped job", dropped_job<false>, dropped_job<true>, sim::verdict::stuck},
        {13, "a wait in its own pool", waits_in_its_pool<false>, waits_in_its_pool<true>,
         sim::verdict::blocking},
        {14, "a lock across a wait", lock_across_a_wait<false>, lock_across_a_wait<true>,
         sim::verdict::blocking},
    };
}

} // namespace bugs
