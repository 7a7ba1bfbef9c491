#include "bug.hpp"

#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/sim/link.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace bugs {
namespace {

// ---- 15. One load serves all callers that ask meanwhile. Callers that ask after its failure still get the
// old failure.

template <bool is_repaired>
class cache {
public:
    explicit cache(sim_context& sim) : sim_(sim) {}

    void get(std::function<void(bool)> done) {
        waiting_.push_back(std::move(done));
        if (has_failed_) return post(sim_, [this] { tell_all(false); });
        if (std::exchange(is_loading_, true)) return;
        ++loads;
        post(sim_, [this, number = loads] { loaded(number > 1); }); // only the first load fails
    }
    int loads = 0;

private:
    void loaded(bool is_good) {
        has_failed_ = !is_good;
        if (is_repaired)
            forget();
        else
            post(sim_, [this] { forget(); });
        tell_all(is_good);
    }
    void forget() { is_loading_ = has_failed_ = false; }
    void tell_all(bool is_good) {
        for (const auto& each : std::exchange(waiting_, {})) post(sim_, [each, is_good] { each(is_good); });
    }

    sim_context& sim_;
    bool is_loading_ = false;
    bool has_failed_ = false;
    std::vector<std::function<void(bool)>> waiting_;
};

template <bool is_repaired>
void old_failure(sim_context& sim) {
    cache<is_repaired> values(sim);
    values.get([&](bool is_good) {
        sim::expect(!is_good, "the first load fails");
        values.get([](bool again) { sim::expect(again, "who asks after a failure gets a new load"); });
    });
    sim.run();
}

// ---- 16. The load throws. The waiting callers are never told, and the key stays in the state "loading".

template <bool is_repaired>
void failed_load(sim_context& sim) {
    bool is_loading = false;
    std::vector<std::function<void()>> waiting;
    const auto tell_all = [&] {
        is_loading = false;
        for (const auto& each : std::exchange(waiting, {})) each();
    };
    const auto load = [&] {
        try {
            sim::may_throw("the database is away");
            tell_all();
        } catch (const sim::injected_fault&) {
            if (is_repaired) tell_all(); // tells them that it has failed
        }
    };
    sim::exactly_once first("the first reply");
    sim::exactly_once second("the second reply");
    for (sim::exactly_once* const reply : {&first, &second}) {
        post(sim, [&, reply] {
            waiting.push_back([reply] { reply->done(); });
            if (!std::exchange(is_loading, true)) post(sim, load);
        });
    }
    sim.run();
}

// ---- 17. Two branches race. The loser keeps waiting, and is granted a lock that it never releases.

template <bool is_repaired>
void lock_for_the_loser(sim_context& sim) {
    mutex m;
    co_spawn(sim, [&]() -> coroutine<> { // holds the lock for a while
        const auto guard = co_await async_lock(m);
        co_await sleep_for(5ms);
    });
    bool is_decided = false;
    co_spawn(sim, [&]() -> coroutine<> { // one branch
        co_await sleep_for(1ms);
        auto guard = co_await async_lock(m);
        const bool is_loser = std::exchange(is_decided, true);
        if (is_loser && !is_repaired) (void)guard.release();
    });
    co_spawn(sim, [&]() -> coroutine<> { // the other one: a limit
        co_await sleep_for(6ms);
        is_decided = true;
    });
    co_spawn(sim, [&]() -> coroutine<> { // another coroutine that needs the lock
        co_await sleep_for(9ms);
        const auto guard = co_await async_lock(m);
    });
    sim.run();
}

// ---- 18. One transfer locks A, then B. Another one locks B, then A.

template <bool is_repaired>
void circle_of_locks(sim_context& sim) {
    struct account {
        mutex lock;
        int balance = 10;
    };
    account a;
    account b;
    const auto transfer = [](account& from, account& to) -> coroutine<> {
        account* first = &from;
        account* second = &to;
        if (is_repaired && std::less<>()(second, first)) std::swap(first, second);
        const auto one = co_await async_lock(first->lock);
        co_await yield(); // the audit
        const auto both = co_await async_lock(second->lock);
        --from.balance;
        ++to.balance;
    };
    co_spawn(sim, transfer(a, b));
    later(sim, 5, [&] { co_spawn(sim, transfer(b, a)); });
    sim.run();
}

// ---- 19. The balance is checked, something is awaited, and then the account is debited.

template <bool is_repaired>
void check_and_act(sim_context& sim) {
    int balance = 10;
    const auto withdraw = [&](int amount) -> coroutine<> {
        if (balance < amount) co_return;
        co_await yield(); // the fraud check
        if (is_repaired && balance < amount) co_return;
        balance -= amount;
        sim::expect(balance >= 0, "the account is not overdrawn");
    };
    co_spawn(sim, withdraw(7));
    later(sim, 5, [&] { co_spawn(sim, withdraw(7)); });
    sim.run();
}

// ---- 20. The connection breaks after the effect and before the reply, so the client tries again.

template <bool is_repaired>
void effect_twice(sim_context& sim) {
    sim_context server({.name = "server"});
    sim::link wire(sim, server, "client to server");
    int balance = 0;
    std::set<int> applied;
    bool is_done = false;
    std::function<void(int)> deposit = [&](int request) {
        (void)wire.send([&, request] { // runs on the server
            if (!is_repaired || applied.insert(request).second) ++balance;
            (void)wire.send_back([&] { is_done = true; });
        });
    };
    steady_timer retry(sim);
    wire.on_cut([&] {
        retry.expires_after(10ms);
        retry.async_wait([&](std::error_code) {
            wire.repair();
            if (!is_done) deposit(1);
        });
    });
    deposit(1);
    sim.run();
    sim::expect(balance <= 1, "one deposit counts once");
}

} // namespace

std::vector<bug> of_caches_and_locks() {
    return {
        {15, "an old failure", old_failure<false>, old_failure<true>, sim::verdict::expectation},
        {16,
         "a load that fails",
         failed_load<false>,
         failed_load<true>,
         sim::verdict::stuck,
         {sim::fault::throwing}},
        {17, "a lock for the loser", lock_for_the_loser<false>, lock_for_the_loser<true>,
         sim::verdict::stuck},
        {18, "a circle of locks", circle_of_locks<false>, circle_of_locks<true>, sim::verdict::stuck},
        {19, "check, await, act", check_and_act<false>, check_and_act<true>, sim::verdict::expectation},
        {20,
         "an effect twice",
         effect_twice<false>,
         effect_twice<true>,
         sim::verdict::expectation,
         {sim::fault::link_cut}},
    };
}

} // namespace bugs
