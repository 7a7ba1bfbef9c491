// Random functions with several keys in simulations, against the functions one after the other.
#include "../effort.hpp"
#include "dice.hpp"
#include "tally.hpp"

#include <ekiden/lanes/lanes.hpp>
#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/sim_context.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <functional>
#include <vector>

namespace {

using namespace ekiden;
using ekiden_test::dice;
using simulated_lanes = lanes<int, sim_context::executor_type>;

/// One random program: its lanes, its functions, and the posts in their order.
struct random_program {
    struct request {
        std::vector<int> written;
        std::vector<int> read;
        bool was_refused = false;
    };

    random_program(sim_context& context, std::uint64_t seed, const lanes_options& how)
        : sim(context), random{seed * 0x9e3779b97f4a7c15U}, l(context.get_executor(), how) {}

    request some_request() {
        request made;
        const unsigned count = random.below(12) == 0 ? 0 : 1 + random.below(random.below(6) == 0 ? 6 : 3);
        without_keys += count == 0 ? 1 : 0;
        for (unsigned i = 0; i != count; ++i)
            (random.below(2) == 0 ? made.written : made.read).push_back(static_cast<int>(random.below(keys)));
        return made;
    }

    /// Posts a request. Functions post, too, until `depth` is 0. No other task runs during the call, so the
    /// order of `posts` is the order of the posts.
    void post_one(unsigned depth) {
        const std::size_t number = posts.size();
        posts.push_back(some_request());
        const request of = posts.back();
        auto f = all.function([this, number, depth, of] { run(of, number, depth); });
        bool is_in = true;
        if (of.written.size() == 1 && of.read.empty() && random.below(2) == 0)
            is_in = l.post(of.written[0], std::move(f));
        else if (random.below(4) == 0)
            is_in = l.defer(l.keys().read_all(of.read).write_all(of.written), std::move(f));
        else
            is_in = l.post(l.keys().write_all(of.written).read_all(of.read), std::move(f));
        posts[number].was_refused = !is_in;
    }

    void run(const request& of, std::size_t number, unsigned depth) {
        for (const int k : of.written) ++at(writers, k);
        for (const int k : of.read) ++at(readers, k);
        if (random.below(3) != 0) sim::point(); // others run, if their keys are free
        // A key may occur several times among the keys of this function.
        for (const int k : of.written) {
            sim::expect(at(writers, k) == std::count(of.written.begin(), of.written.end(), k),
                        "a written key has one function");
            sim::expect(at(readers, k) == std::count(of.read.begin(), of.read.end(), k),
                        "a written key has no reader");
        }
        if (depth != 0 && random.below(3) == 0) post_one(depth - 1);
        change(cells, of, number);
        if (random.below(3) == 0) sim::point();
        for (const int k : of.written) --at(writers, k);
        for (const int k : of.read) --at(readers, k);
    }

    /// Changes the cells of the written keys. The result depends on all cells of the request.
    static void change(std::array<std::uint64_t, 6>& of_all, const request& of, std::size_t number) {
        std::uint64_t sum = number + 1;
        for (const int k : of.read) sum = (sum ^ at(of_all, k)) * 0x9e3779b97f4a7c15U;
        for (const int k : of.written) at(of_all, k) = (at(of_all, k) ^ sum) * 0xbf58476d1ce4e5b9U + sum;
    }

    /// Starts a task that posts `left` requests, with other tasks in between.
    void start_poster(unsigned left) {
        sim.get_executor().post([this, left] {
            unsigned burst = 1 + random.below(4);
            unsigned rest = left;
            for (; rest != 0 && burst != 0; --rest, --burst) post_one(2);
            if (rest != 0) start_poster(rest);
        });
    }

    [[nodiscard]] bool has_sequential_result() const {
        std::array<std::uint64_t, 6> expected{};
        for (std::size_t n = 0; n != posts.size(); ++n)
            if (!posts[n].was_refused) change(expected, posts[n], n);
        return expected == cells;
    }

    template <class T>
    static T& at(std::array<T, 6>& of, int key) {
        return of[static_cast<std::size_t>(key)];
    }

    static constexpr unsigned keys = 6;
    sim_context& sim;
    dice random;
    ekiden_test::tally all;
    simulated_lanes l;
    std::vector<request> posts;
    std::array<std::uint64_t, keys> cells{};
    std::array<int, keys> writers{};
    std::array<int, keys> readers{};
    unsigned without_keys = 0; ///< number of functions that go to the context
};

lanes_options options_of(std::uint64_t seed) {
    lanes_options chosen;
    chosen.shards = 1U << seed % 3;
    if (seed % 4 == 1) chosen.lane_capacity = 1 + seed / 4 % 3;
    if (seed % 8 == 2) chosen.capacity = 2 + seed / 8 % 6;
    return chosen;
}

constexpr auto seeds = static_cast<std::uint64_t>(ekiden_test::rounds(10'000));

} // namespace

TEST_CASE("In 10,000 simulations, requests of one thread give the sequential result") {
    for (std::uint64_t seed = 0; seed != seeds; ++seed) {
        CAPTURE(seed);
        sim_context sim(seed);
        random_program p(sim, seed, options_of(seed));
        for (unsigned n = 4 + p.random.below(12); n != 0; --n) p.post_one(1);
        sim.run();
        REQUIRE(p.has_sequential_result());
        REQUIRE(p.all.is_settled());
        REQUIRE(p.l.active() == 0);
    }
}

TEST_CASE("In 10,000 simulations, requests of several posters give the result of the order of their posts") {
    for (std::uint64_t seed = 0; seed != seeds; ++seed) {
        CAPTURE(seed);
        sim_context sim(seed);
        random_program p(sim, seed, options_of(seed));
        for (unsigned posters = 2 + p.random.below(2); posters != 0; --posters)
            p.start_poster(2 + p.random.below(6));
        sim.run();
        REQUIRE(p.has_sequential_result());
        REQUIRE(p.all.is_settled());
        REQUIRE(p.l.active() == 0);
        const auto now = p.l.metrics();
        REQUIRE(now.posted == now.run);
    }
}

TEST_CASE("In 10,000 simulations with closed lanes and stops, each request is run or destroyed once") {
    for (std::uint64_t seed = 0; seed != seeds; ++seed) {
        CAPTURE(seed);
        lanes_options options = options_of(seed);
        options.policy = seed % 3 == 0 ? when_full::reject
                                       : (seed % 3 == 1 ? when_full::drop_oldest : when_full::drop_newest);
        sim_context sim(seed);
        random_program p(sim, seed, options);
        for (unsigned posters = 2; posters != 0; --posters) p.start_poster(3 + p.random.below(6));
        for (unsigned closes = p.random.below(6); closes != 0; --closes)
            sim.get_executor().post([&] { (void)p.l.close(static_cast<int>(p.random.below(6))); });
        const bool stops = p.random.below(3) == 0;
        if (stops) sim.get_executor().post([&] { sim.stop(); });
        sim.run();
        REQUIRE(p.all.is_settled());
        REQUIRE(p.l.active() == 0);
        const auto now = p.l.metrics();
        if (stops) continue;
        const auto made = static_cast<unsigned>(p.all.made.load());
        REQUIRE(now.run + now.dropped + now.rejected + p.without_keys == made);
        REQUIRE(now.run + p.without_keys == static_cast<unsigned>(p.all.ran.load()));
    }
}
