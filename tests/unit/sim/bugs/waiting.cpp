#include "bug.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/then.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace bugs {
namespace {

// ---- 1. Between a waiter's check and its wait, the flag is set and the waiters are woken.

class condition {
public:
    coroutine<> wait() {
        const auto mine = std::make_shared<event>();
        waiting_.push_back(mine);
        co_await async_wait(*mine);
    }
    void notify_all() {
        for (const auto& each : std::exchange(waiting_, {})) each->set();
    }

private:
    std::vector<std::shared_ptr<event>> waiting_;
};

template <bool is_repaired>
void missed_stop(sim_context& sim) {
    condition changed;
    bool stops = false;
    int idle = 0;
    co_spawn(sim, [&]() -> coroutine<> {
        while (!stops) {
            ++idle;
            if constexpr (!is_repaired) co_await yield(); // to be polite, before it sleeps
            co_await changed.wait();
        }
    });
    later(sim, 5, [&] {
        stops = true;
        changed.notify_all();
    });
    sim.run();
    sim::expect(idle <= 1, "it looks once");
}

// ---- 2. A permit is handed to a waiter that has just timed out.

template <bool is_repaired>
class permits {
public:
    permits(sim_context& sim, int free) : sim_(sim), free_(free) {}

    void acquire(std::chrono::milliseconds limit, std::function<void(bool)> done) {
        const auto self = std::make_shared<waiter>(sim_, std::move(done));
        if (free_ > 0) {
            --free_;
            self->end(true);
            return;
        }
        waiting_.push_back(self);
        self->timer.expires_after(limit);
        self->timer.async_wait([self](std::error_code) { self->end(false); });
    }
    void release() {
        if (waiting_.empty()) {
            ++free_;
            return;
        }
        const auto next = waiting_.front();
        waiting_.pop_front();
        post(sim_, [this, next] {
            const bool got_it = next->end(true);
            if (is_repaired && !got_it) release();
        });
    }
    int free() const { return free_; }

private:
    struct waiter {
        waiter(sim_context& sim, std::function<void(bool)> f) : timer(sim), done(std::move(f)) {}
        bool end(bool has_permit) {
            if (std::exchange(has_ended, true)) return false;
            done(has_permit);
            return true;
        }
        steady_timer timer;
        std::function<void(bool)> done;
        bool has_ended = false;
    };
    sim_context& sim_;
    int free_;
    std::deque<std::shared_ptr<waiter>> waiting_;
};

template <bool is_repaired>
void permit_for_nobody(sim_context& sim) {
    permits<is_repaired> gate(sim, 1);
    const auto use = [&](bool has_permit) {
        if (has_permit) post(sim, [&] { gate.release(); });
    };
    steady_timer work(sim, 4ms);
    gate.acquire(1s, [&](bool) { work.async_wait([&](std::error_code) { gate.release(); }); });
    gate.acquire(5ms, use);
    sim.run();
    sim::expect(gate.free() == 1, "no permit is lost");
}

// ---- 3. A job keeps its permit, because it throws before the release is registered.

template <bool is_repaired>
void permit_of_a_failure(sim_context& sim) {
    int free = 2;
    const auto fetch = [&] {
        sim::may_throw("a connection is refused");
        return sim.get_executor().submit([] { return 1; });
    };
    struct permit {
        int& of;
        bool is_handed_on = false;
        explicit permit(int& p) : of(p) { --of; }
        permit(const permit&) = delete;
        permit& operator=(const permit&) = delete;
        ~permit() {
            if (!is_handed_on) ++of;
        }
    };
    const auto start = [&] {
        if constexpr (is_repaired) {
            permit mine(free);
            (void)fetch().then(sim.get_executor(), [&](auto) { ++free; });
            mine.is_handed_on = true;
        } else {
            --free;
            (void)fetch().then(sim.get_executor(), [&](auto) { ++free; });
        }
    };
    for (int i = 0; i < 4; ++i) {
        post(sim, [&] {
            try {
                start();
            } catch (const sim::injected_fault&) {
                sim::note("refused");
            }
        });
    }
    sim.run();
    sim::expect(free == 2, "all permits are back");
}

} // namespace

std::vector<bug> of_waiting() {
    return {
        {1, "a stop between check and wait", missed_stop<false>, missed_stop<true>, sim::verdict::stuck},
        {2, "a permit for one that has timed out", permit_for_nobody<false>, permit_for_nobody<true>,
         sim::verdict::expectation},
        {3,
         "a permit kept by a failure",
         permit_of_a_failure<false>,
         permit_of_a_failure<true>,
         sim::verdict::expectation,
         {sim::fault::throwing}},
    };
}

} // namespace bugs
