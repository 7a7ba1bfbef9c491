// Random transfers by turns, spawned requests and posts of several threads, with exact accounts.
#include "../effort.hpp"
#include "../lanes/dice.hpp"
#include "run_coroutine.hpp"
#include "turn_support.hpp"

#include <ekiden/async/sleep.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::bank;
using ekiden_test::dice;
using ekiden_test::is_settled;
using ekiden_test::until;

namespace {

/// Accounts without locks. The lanes guard them, so ThreadSanitizer reports each turn that overlaps another
/// one.
class accounts_in_turn {
public:
    static constexpr int count = 5;

    accounts_in_turn(thread_pool& pool, const lanes_options& how)
        : pool_(pool), l_(std::make_unique<bank>(pool.get_executor(), how)) {}

    [[nodiscard]] const bank& in() const { return *l_; }
    [[nodiscard]] long sum() const {
        long all = 0;
        for (const long each : balances_) all += each;
        return all;
    }
    [[nodiscard]] bool has_coroutines() const { return alive_ != 0; }
    [[nodiscard]] long sums_wrong() const { return sums_wrong_; }

    /// Starts `n` random requests from this thread.
    void start(std::uint64_t seed, int n) {
        dice random{seed};
        std::vector<std::stop_source> stops;
        for (int i = 0; i != n; ++i) {
            const int from = static_cast<int>(random.below(count));
            const int to = static_cast<int>(random.below(count));
            const unsigned steps = random.below(3);
            std::stop_source stop;
            const auto options = [&] { return spawn_options().stop(stop.get_token()); };
            const auto alive = std::make_shared<ekiden_test::witness>(alive_);
            switch (random.below(6)) {
            case 0:
                (void)l_->post({from, to}, [this, alive, from, to] { move_one(from, to); });
                break;
            case 1:
                spawn_in_turn(
                    *l_, {from, to}, [this, alive, from, to, steps] { return transfer(from, to, steps); },
                    detached, options());
                break;
            case 2:
                spawn_in_turn(
                    *l_, l_->keys().read(0, 1, 2, 3, 4), [this, alive, steps] { return add_all(steps); },
                    detached, options());
                break;
            case 3:
                co_spawn(
                    pool_, [this, alive, from, to, steps] { return limited(from, to, steps); }, detached,
                    options());
                break;
            case 4:
                co_spawn(
                    pool_, [this, alive, from, to, steps] { return late(from, to, steps); }, detached,
                    options());
                break;
            default:
                co_spawn(
                    pool_, [this, alive, from, to, steps] { return awaited(from, to, steps); }, detached,
                    options());
            }
            if (random.below(3) == 0) stops.push_back(std::move(stop));
            if (!stops.empty() && random.below(3) == 0) {
                stops.back().request_stop();
                stops.pop_back();
            }
            if (random.below(64) == 0) std::this_thread::yield();
            if (meddles) meddle(random, from);
        }
        for (auto& each : stops) each.request_stop();
    }

    bool meddles = false; ///< whether start() also closes lanes, and pauses the pool

    /// Destroys the lanes. Requests still run.
    void drop_lanes() { l_.reset(); }

private:
    void meddle(dice& random, int key) {
        switch (random.below(40)) {
        case 0:
            (void)l_->close(key);
            break;
        case 1:
            (void)l_->depth(key);
            (void)l_->metrics();
            break;
        case 2:
            (void)l_->wait_idle_for(key, 10us);
            break;
        case 3:
            pool_.pause();
            std::this_thread::yield();
            pool_.resume();
            break;
        default:
            break;
        }
    }
    void move_one(int from, int to) {
        --balances_[static_cast<std::size_t>(from)];
        ++balances_[static_cast<std::size_t>(to)];
    }
    static coroutine<> pause(unsigned steps) {
        try {
            for (; steps != 0; --steps) {
                if (steps == 2)
                    co_await sleep_for(5us);
                else
                    co_await yield();
            }
        } catch (const operation_canceled&) { // the turn is told of the stop, and completes
        }
    }
    // If the coroutine is destroyed, the guard of the second half undoes the first half.
    coroutine<> transfer(int from, int to, unsigned steps) {
        struct second_half {
            long& to;
            ~second_half() { ++to; }
        } const last{balances_[static_cast<std::size_t>(to)]};
        --balances_[static_cast<std::size_t>(from)];
        co_await pause(steps);
    }
    coroutine<> add_all(unsigned steps) {
        if (sum() != 0) ++sums_wrong_;
        co_await pause(steps);
        if (sum() != 0) ++sums_wrong_;
    }
    coroutine<> awaited(int from, int to, unsigned steps) {
        lane_turn turn;
        try {
            turn = co_await async_turn(*l_, l_->keys().write(from, to));
        } catch (const operation_canceled&) { // stopped, or refused
            co_return;
        }
        co_await transfer(from, to, steps);
        if (steps == 0) turn.end();
    }
    coroutine<> limited(int from, int to, unsigned steps) {
        std::optional<lane_turn> turn;
        try {
            turn = co_await async_turn_for(*l_, l_->keys().write(from, to), 20us);
        } catch (const operation_canceled&) { // refused
        }
        if (turn) co_await transfer(from, to, steps);
    }
    coroutine<> late(int from, int to, unsigned steps) {
        const auto inner = [=, this] { return awaited(from, to, steps); };
        try {
            co_await with_timeout(30us, inner);
        } catch (const timed_out&) {
        }
    }

    thread_pool& pool_;
    std::unique_ptr<bank> l_;
    std::array<long, count> balances_{};
    std::atomic<int> alive_{0};
    std::atomic<long> sums_wrong_{0};
};

lanes_options options_of_round(int round) {
    lanes_options how;
    how.shards = 1U << round % 3;
    if (round % 4 == 1) how.lane_capacity = 4;
    if (round % 4 == 3) how.capacity = 20;
    constexpr std::array policies{when_full::reject, when_full::block, when_full::drop_oldest,
                                  when_full::drop_newest};
    how.policy = policies[static_cast<std::size_t>(round / 4 % 4)];
    return how;
}

} // namespace

TEST_CASE("transfers by turns, spawned requests and posts of several threads keep every account exact") {
    for (int round = 0; round != ekiden_test::rounds(80); ++round) {
        CAPTURE(round);
        thread_pool pool(1 + static_cast<unsigned>(round) % 3);
        accounts_in_turn all(pool, options_of_round(round));
        all.meddles = round % 3 == 2;
        std::vector<std::thread> threads;
        for (int t = 0; t != 2; ++t)
            threads.emplace_back([&, t] { all.start(static_cast<std::uint64_t>(round * 7 + t), 300); });
        for (auto& each : threads) each.join();
        until([&] { return !all.has_coroutines(); });
        until([&] { return all.in().active() == 0; });
        pool.wait_idle();
        const when_full policy = options_of_round(round).policy;
        const bool drops_unposted = policy == when_full::drop_oldest || policy == when_full::drop_newest;
        if (!all.meddles && !drops_unposted) CHECK(is_settled(all.in()));
        CHECK(all.sum() == 0);
        CHECK(all.sums_wrong() == 0);
    }
}

TEST_CASE("a pool that stops in the middle destroys coroutines in their turns, and the accounts stay exact") {
    for (int round = 0; round != ekiden_test::rounds(80); ++round) {
        CAPTURE(round);
        auto pool = std::make_unique<thread_pool>(2);
        lanes_options how = options_of_round(round);
        if (how.policy == when_full::block) how.policy = when_full::reject;
        accounts_in_turn all(*pool, how);
        std::thread starts([&] { all.start(static_cast<std::uint64_t>(round), 400); });
        std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
        pool->stop();
        starts.join();
        pool->join();
        if (round % 2 == 0) all.drop_lanes();
        pool.reset();
        CHECK(!all.has_coroutines());
        CHECK(all.sum() == 0);
        CHECK(all.sums_wrong() == 0);
    }
}
