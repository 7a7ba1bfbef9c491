// Random turns, spawned requests and posts in simulations, against the requests one after the other.
#include "../effort.hpp"
#include "../lanes/dice.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_turn.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/get_environment.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/sim_context.hpp>
#include <ekiden/sync/event.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <doctest/doctest.h>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::dice;
using turn_lanes = lanes<int, sim_context::executor_type>;

/// One random program: its lanes, and its requests in the order of their posts.
struct turn_program {
    static constexpr int keys = 6;

    struct request {
        std::vector<int> written;
        std::vector<int> read;
        int runs = 0;
        bool is_alive = true; ///< false if the function was destroyed, or the turn was not got
        std::stop_source stop;
    };

    turn_program(sim_context& context, std::uint64_t seed, const lanes_options& how)
        : sim(context), random{seed * 0x9e3779b97f4a7c15U}, policy(how.policy),
          l(context.get_executor(), how) {}

    /// Adds a request to the list. The caller must post the request in the same step.
    request& add() {
        request& made = all.emplace_back();
        const unsigned count = random.below(16) == 0 ? 0 : 1 + random.below(random.below(6) == 0 ? 6 : 3);
        without_keys += count == 0 ? 1 : 0;
        for (unsigned i = 0; i != count; ++i)
            (random.below(2) == 0 ? made.written : made.read).push_back(static_cast<int>(random.below(keys)));
        return made;
    }
    turn_lanes::key_list&& keys_of(const request& r, turn_lanes::key_list&& empty) {
        return std::move(empty).write_all(r.written).read_all(r.read);
    }

    // ---- what requests do

    void enter(request& r) {
        sim::expect(++r.runs == 1, "a request begins once");
        sim::expect(r.is_alive, "a request that was destroyed does not begin");
        for (const int k : r.written) ++at(writers, k);
        for (const int k : r.read) ++at(readers, k);
    }
    void check(const request& r) {
        // A key may occur several times among the keys of a request.
        for (const int k : r.written) {
            sim::expect(at(writers, k) == std::count(r.written.begin(), r.written.end(), k),
                        "a written key has one request");
            sim::expect(at(readers, k) == std::count(r.read.begin(), r.read.end(), k),
                        "a written key has no reader");
        }
    }
    void leave(request& r) {
        check(r);
        change(cells, r, number_of(r));
        for (const int k : r.written) --at(writers, k);
        for (const int k : r.read) --at(readers, k);
    }
    /// The body of a turn. A stop is only told to the body, which completes its work.
    coroutine<> work(request& r) {
        enter(r);
        for (unsigned steps = random.below(4); steps != 0; --steps) {
            try {
                switch (random.below(4)) {
                case 0:
                    co_await sleep_for(std::chrono::microseconds(random.below(20)));
                    break;
                case 1:
                    co_await async_wait(news);
                    break;
                default:
                    co_await yield();
                }
            } catch (const operation_canceled&) {
                sim::expect(r.stop.stop_requested(), "only a stop ends a wait");
            }
            check(r);
        }
        leave(r);
    }

    // ---- posts

    void post_one() {
        const unsigned kind = random.below(4);
        // A coroutine of a simulation must not block, but an awaited turn never does.
        if (kind == 0 || policy == when_full::block) return start_turn();
        request& r = add();
        const std::shared_ptr<request> alive(&r, [](request* gone) { gone->is_alive = false; });
        if (kind == 1) {
            (void)l.post(keys_of(r, l.keys()), [this, alive] {
                enter(*alive);
                if (random.below(2) == 0) sim::point();
                leave(*alive);
            });
        } else {
            spawn_in_turn(
                l, keys_of(r, l.keys()), [this, alive] { return work(*alive); }, detached,
                spawn_options().stop(r.stop.get_token()));
            if (random.below(4) == 0) stop_later(r.stop);
        }
    }

    /// Starts a coroutine that awaits a turn.
    void start_turn() {
        std::stop_source stop;
        const unsigned limit = random.below(3);
        co_spawn(
            sim, [this, stop, limit] { return await_turn(stop, limit); }, detached,
            spawn_options().stop(stop.get_token()));
        if (random.below(4) == 0) stop_later(stop);
    }
    coroutine<> await_turn(std::stop_source stop, unsigned limit) {
        if (stop.stop_requested()) co_return;
        request& r = add();
        r.stop = std::move(stop);
        const std::shared_ptr<request> alive(&r, [](request* gone) { gone->is_alive = false; });
        lane_turn turn;
        try {
            if (limit == 0) {
                const auto most = std::chrono::microseconds(random.below(30));
                auto got = co_await async_turn_for(l, keys_of(r, l.keys()), most);
                if (!got) co_return;
                turn = std::move(*got);
            } else {
                turn = co_await async_turn(l, keys_of(r, l.keys()));
            }
        } catch (const operation_canceled&) {
            co_return;
        }
        co_await work(r);
        if (random.below(2) == 0) turn.end();
    }

    void stop_later(std::stop_source stop) {
        const auto delay = std::chrono::microseconds(random.below(40));
        co_spawn(sim, [stop = std::move(stop), delay]() mutable -> coroutine<> {
            return stop_after(std::move(stop), delay);
        });
    }
    static coroutine<> stop_after(std::stop_source stop, std::chrono::microseconds delay) {
        co_await sleep_for(delay);
        stop.request_stop();
    }

    /// Starts a task that posts `left` requests, with other tasks in between.
    void start_poster(unsigned left) {
        co_spawn(sim, [this, left] { return post_some(left); });
    }
    coroutine<> post_some(unsigned left) {
        for (; left != 0; --left) {
            post_one();
            if (random.below(2) == 0) co_await yield();
            if (random.below(8) == 0) co_await sleep_for(std::chrono::microseconds(random.below(10)));
        }
    }
    void start_news() {
        co_spawn(sim, [this]() -> coroutine<> {
            co_await sleep_for(std::chrono::microseconds(100));
            news.set();
        });
    }

    // ---- results

    /// Changes the cells of the written keys. The result depends on all cells of the request.
    static void change(std::array<std::uint64_t, keys>& of_all, const request& of, std::size_t number) {
        std::uint64_t sum = number + 1;
        for (const int k : of.read) sum = (sum ^ at(of_all, k)) * 0x9e3779b97f4a7c15U;
        for (const int k : of.written) at(of_all, k) = (at(of_all, k) ^ sum) * 0xbf58476d1ce4e5b9U + sum;
    }
    [[nodiscard]] std::size_t number_of(const request& r) const {
        return static_cast<std::size_t>(
            std::find_if(all.begin(), all.end(), [&](const request& e) { return &e == &r; }) - all.begin());
    }
    [[nodiscard]] bool has_sequential_result() const {
        std::array<std::uint64_t, keys> expected{};
        for (std::size_t n = 0; n != all.size(); ++n)
            if (all[n].runs == 1) change(expected, all[n], n);
        return expected == cells;
    }
    [[nodiscard]] std::size_t count_run() const {
        return static_cast<std::size_t>(
            std::count_if(all.begin(), all.end(), [](const request& r) { return r.runs == 1; }));
    }
    [[nodiscard]] bool is_over() const {
        return l.active() == 0
               && std::none_of(all.begin(), all.end(), [](const request& r) { return r.is_alive; });
    }

    template <class T>
    static T& at(std::array<T, keys>& of, int key) {
        return of[static_cast<std::size_t>(key)];
    }

    sim_context& sim;
    dice random;
    const when_full policy;
    std::deque<request> all;
    event news;
    std::array<std::uint64_t, keys> cells{};
    std::array<int, keys> writers{};
    std::array<int, keys> readers{};
    unsigned without_keys = 0;
    turn_lanes l;
};

lanes_options turn_options_of(std::uint64_t seed) {
    lanes_options chosen;
    chosen.shards = 1U << seed % 3;
    if (seed % 4 == 1) chosen.lane_capacity = 1 + seed / 4 % 3;
    if (seed % 8 == 2) chosen.capacity = 2 + seed / 8 % 6;
    constexpr std::array policies{when_full::reject, when_full::block, when_full::drop_oldest,
                                  when_full::drop_newest};
    chosen.policy = policies[seed / 16 % 4];
    return chosen;
}

constexpr auto turn_seeds = static_cast<std::uint64_t>(ekiden_test::rounds(10'000));

} // namespace

TEST_CASE("in 10,000 simulations turns, spawned requests and posts give the result of their order") {
    for (std::uint64_t seed = 0; seed != turn_seeds; ++seed) {
        CAPTURE(seed);
        sim_context sim(seed);
        turn_program p(sim, seed, turn_options_of(seed));
        for (unsigned posters = 1 + p.random.below(3); posters != 0; --posters)
            p.start_poster(2 + p.random.below(8));
        p.start_news();
        const bool closes = p.random.below(4) == 0;
        if (closes) sim.get_executor().post([&] { (void)p.l.close(static_cast<int>(p.random.below(6))); });
        sim.run();
        REQUIRE(p.is_over());
        REQUIRE(p.has_sequential_result());
        const auto now = p.l.metrics();
        REQUIRE(now.run + now.dropped + now.rejected + p.without_keys == p.all.size());
        // A turn may begin and end before its coroutine continues, and finds that it was stopped.
        REQUIRE(p.count_run() <= now.run + p.without_keys);
    }
}

TEST_CASE("in 10,000 simulations that stop in the middle each turn ends once, and gives its keys back") {
    for (std::uint64_t seed = 0; seed != turn_seeds; ++seed) {
        CAPTURE(seed);
        std::optional<turn_program> p;
        {
            sim_context sim(seed);
            p.emplace(sim, seed, turn_options_of(seed));
            for (unsigned posters = 2; posters != 0; --posters) p->start_poster(2 + p->random.below(8));
            p->start_news();
            const auto when = std::chrono::microseconds(p->random.below(60));
            co_spawn(sim, [&]() -> coroutine<> {
                co_await sleep_for(when);
                sim.stop();
            });
            sim.run();
        }
        REQUIRE(std::none_of(p->all.begin(), p->all.end(), [](const auto& r) { return r.is_alive; }));
    }
}
