#include <lab/replay/point.hpp>
#include <lab/replay/predict.hpp>

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <random>
#include <stdexcept>
#include <vector>

using lab::replay::costs;
using lab::replay::figures_of;
using lab::replay::offer;
using lab::replay::predict;
using lab::replay::prediction;
using lab::replay::schedule;
using lab::replay::shape;
using lab::replay::virtual_machine;

namespace {

constexpr costs none;
constexpr double work_ns = 10'000; // the mean of all made-up requests

class draws {
public:
    double uniform() { return (static_cast<double>(bits_() >> 11U) + 0.5) / 9007199254740992.0; }
    double exponential(double mean) { return -mean * std::log(uniform()); }

private:
    std::mt19937_64 bits_{20'240'601};
};

/// Poisson arrivals that would keep `load` of one server busy.
schedule poisson(double load, std::size_t count, bool is_exponential, std::uint32_t keys = 1) {
    schedule made{.offers = {}, .keys = keys, .rate = 1e9 * load / work_ns, .mean_ns = work_ns};
    draws draw;
    double at = 0;
    for (std::size_t i = 0; i < count; ++i) {
        at += draw.exponential(work_ns / load);
        const double work = is_exponential ? draw.exponential(work_ns) : work_ns;
        made.offers.push_back({.due_ns = static_cast<std::uint64_t>(at),
                               .turns = static_cast<std::uint64_t>(std::llround(work)),
                               .key = static_cast<std::uint32_t>(draw.uniform() * keys)});
    }
    return made;
}

/// The mean time from arrival to end, in mean services.
double mean_sojourn(const schedule& offered, const prediction& p) {
    REQUIRE(p.ends_ns.size() == offered.offers.size());
    double sum = 0;
    for (std::size_t i = 0; i < p.ends_ns.size(); ++i)
        sum += static_cast<double>(p.ends_ns[i]) - static_cast<double>(offered.offers[i].due_ns);
    return sum / static_cast<double>(p.ends_ns.size()) / work_ns;
}

double mean_sojourn(const schedule& offered, shape formed, unsigned cores) {
    return mean_sojourn(offered, predict(offered, formed, {.processors = cores, .workers = cores}, none));
}

schedule paced(std::vector<offer> offers) {
    schedule made{.offers = std::move(offers), .keys = 8, .rate = 1e6, .mean_ns = 100};
    return made;
}

schedule at_once(std::vector<offer> offers) {
    schedule made = paced(std::move(offers));
    made.rate = 0;
    return made;
}

using ends = std::vector<std::uint64_t>;

ends ends_of(const schedule& offered, shape formed, unsigned cores, const costs& each = none) {
    return predict(offered, formed, {.processors = cores, .workers = cores}, each).ends_ns;
}

constexpr std::size_t customers = 300'000;

} // namespace

TEST_CASE("one server with exponential services waits as Pollaczek and Khinchine have it") {
    for (const double load : {0.3, 0.5, 0.7}) {
        CAPTURE(load);
        const double wait = load / (1 - load);
        CHECK(mean_sojourn(poisson(load, customers, true), shape::serial, 4) - 1
              == doctest::Approx(wait).epsilon(0.04));
    }
}

TEST_CASE("one server with equal services waits half as long") {
    for (const double load : {0.3, 0.5, 0.7}) {
        CAPTURE(load);
        const double wait = load / (1 - load) / 2;
        CHECK(mean_sojourn(poisson(load, customers, false), shape::serial, 4) - 1
              == doctest::Approx(wait).epsilon(0.04));
    }
}

TEST_CASE("one server ends each request when Lindley's recursion does") {
    const schedule offered = poisson(0.9, 5'000, true);
    const ends found = ends_of(offered, shape::serial, 1);
    std::uint64_t free = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        free = std::max(free, offered.offers[i].due_ns) + offered.offers[i].turns;
        REQUIRE(std::max(found[i], free) - std::min(found[i], free) <= 1); // rounded once
    }
}

TEST_CASE("two servers at one queue wait as Erlang's C formula has it") {
    for (const double load : {0.4, 0.7}) {
        CAPTURE(load);
        const double offered = 2 * load;
        const double all_busy = offered * offered / 2 / (1 - load);
        const double must_wait = all_busy / (1 + offered + all_busy);
        CHECK(mean_sojourn(poisson(offered, customers, true), shape::pool, 2) - 1
              == doctest::Approx(must_wait / (2 - offered)).epsilon(0.04));
    }
}

TEST_CASE("a queue for each of two servers is as bad as one server at the same load") {
    const schedule offered = poisson(1.4, customers, true, 64);
    const double sharded = mean_sojourn(offered, shape::sharded, 2);
    CHECK(sharded == doctest::Approx(1 / (1 - 0.7)).epsilon(0.06));
    CHECK(sharded > 1.5 * mean_sojourn(offered, shape::pool, 2));
}

TEST_CASE("threads that share a processor end as processor sharing has it, whatever the services are") {
    for (const bool is_exponential : {true, false}) {
        CAPTURE(is_exponential);
        CHECK(mean_sojourn(poisson(0.5, customers, is_exponential), shape::thread_per_request, 1)
              == doctest::Approx(2).epsilon(0.04));
    }
}

TEST_CASE("no processors are enough for more than the hottest key's bound") {
    schedule offered{.offers = {}, .keys = 101, .rate = 0, .mean_ns = work_ns};
    draws draw;
    for (std::size_t i = 0; i < 20'000; ++i) // every fourth is for key 0
        offered.offers.push_back(
            {.turns = static_cast<std::uint64_t>(work_ns),
             .key = i % 4 == 0 ? 0 : 1 + static_cast<std::uint32_t>(draw.uniform() * 100)});
    const double bound = 4 * 1e9 / work_ns;
    for (const shape formed : {shape::keyed, shape::elastic_keyed}) {
        const auto rate = [&](unsigned cores) {
            const prediction p = predict(offered, formed, {.processors = cores, .workers = cores}, none);
            return figures_of(offered, p.record, p.ends_ns).at("rate");
        };
        CHECK(rate(2) <= 2e9 / work_ns * 1.0001);
        CHECK(rate(16) <= bound * 1.0001);
        CHECK(rate(128) <= bound * 1.0001);
        CHECK(rate(128) >= bound * 0.99); // there is always a worker for it
        CHECK(rate(2) < rate(16));
    }
    CHECK(ends_of(offered, shape::pool, 16).back() < 20'000 * work_ns / 16 * 1.01); // which keeps no order
}

TEST_CASE("requests of one key keep their order where that is promised, and not in a pool") {
    const schedule offered = poisson(3, 20'000, true, 4); // of four cores
    const virtual_machine machine{.processors = 4, .workers = 4};
    for (const shape formed : {shape::serial, shape::sharded, shape::keyed, shape::elastic_keyed}) {
        CAPTURE(static_cast<int>(formed));
        schedule at_a_time = offered;
        at_a_time.rate = 0; // never gives up
        CHECK(predict(at_a_time, formed, machine, none).overtaken == 0);
    }
    CHECK(predict(offered, shape::pool, machine, none).overtaken > 0);
    CHECK(predict(offered, shape::thread_per_request, machine, none).overtaken > 0);
}

TEST_CASE("a key's requests are served one at a time, others beside them") {
    // A key serves in its turn what waits when that begins: key 1 one, then key 2 both, then key 1 two.
    const schedule offered = at_once({{.turns = 100, .key = 1},
                                      {.turns = 100, .key = 1},
                                      {.turns = 100, .key = 1},
                                      {.turns = 50, .key = 2},
                                      {.turns = 50, .key = 2}});
    CHECK(ends_of(offered, shape::keyed, 1) == ends{100, 300, 400, 150, 200});
    CHECK(ends_of(offered, shape::keyed, 2) == ends{100, 200, 300, 50, 100});
    CHECK(ends_of(offered, shape::pool, 2) == ends{100, 100, 200, 150, 200});
    CHECK(ends_of(offered, shape::serial, 2) == ends{100, 200, 300, 350, 400});
    CHECK(ends_of(offered, shape::sharded, 2) == ends{100, 200, 300, 50, 100});
}

TEST_CASE("a worker that meets a locked key does nothing else") {
    const schedule offered =
        at_once({{.turns = 100, .key = 1}, {.turns = 100, .key = 1}, {.turns = 10, .key = 2}});
    CHECK(ends_of(offered, shape::mutex_per_key, 2) == ends{100, 200, 110});
    CHECK(ends_of(offered, shape::keyed, 2) == ends{100, 200, 10});
    // The one that waits needs 7 to wake up, and then finds that its key is taken once more.
    const schedule again =
        at_once({{.turns = 100, .key = 1}, {.turns = 100, .key = 1}, {.turns = 100, .key = 1}});
    const costs slow{.wake = 7};
    CHECK(ends_of(again, shape::mutex_per_key, 2, slow) == ends{107, 314, 207});
    // It wakes up once, though the key was unlocked twice meanwhile.
    const schedule twice =
        at_once({{.turns = 100, .key = 1}, {.turns = 1, .key = 1}, {.turns = 3, .key = 1}});
    CHECK(ends_of(twice, shape::mutex_per_key, 2, slow) == ends{107, 115, 110});
}

TEST_CASE("a worker that waits is replaced in an elastic pool only") {
    const schedule offered = at_once(
        {{.turns = 10, .block_ns = 1'000, .key = 1}, {.turns = 10, .key = 1}, {.turns = 20, .key = 2}});
    CHECK(ends_of(offered, shape::pool, 1) == ends{1'010, 1'020, 1'040});
    CHECK(ends_of(offered, shape::elastic_pool, 1) == ends{1'010, 20, 40});
    CHECK(ends_of(offered, shape::keyed, 1) == ends{1'010, 1'040, 1'030});
    CHECK(ends_of(offered, shape::elastic_keyed, 1) == ends{1'010, 1'020, 30});
    CHECK(ends_of(offered, shape::thread_per_request, 1).front() == 1'030); // a third of a processor for 30
}

TEST_CASE("a worker that goes on beside the one that replaced it takes nothing more") {
    const schedule offered = at_once({{.turns = 10, .block_ns = 100}, {.turns = 200}, {.turns = 50}});
    const prediction p = predict(offered, shape::elastic_pool, {.processors = 2, .workers = 1}, none);
    CHECK(p.ends_ns == ends{110, 210, 260});
}

TEST_CASE("a wait in the midst of a service is as much too long as sleeps are") {
    const schedule offered = at_once({{.turns = 10, .block_ns = 100}, {.turns = 10}});
    CHECK(ends_of(offered, shape::pool, 1, {.sleep = 30}) == ends{140, 150});
}

TEST_CASE("no more workers are replaced than there are spare ones") {
    std::vector<offer> offers(lab::replay::spare_threads + 2, {.turns = 1, .block_ns = 100'000});
    for (std::size_t i = 0; i < offers.size(); ++i) offers[i].key = static_cast<std::uint32_t>(i % 8);
    const ends found = ends_of(at_once(offers), shape::elastic_pool, 1);
    CHECK(found[lab::replay::spare_threads] == 100'000 + lab::replay::spare_threads + 1);
    CHECK(found.back() == 200'000 + 2); // after the first that went on had ended
}

TEST_CASE("the clients wait when there are as many threads as may be") {
    const std::vector<offer> offers(lab::replay::most_threads + 1, {.turns = 0, .block_ns = 1'000});
    const ends found = ends_of(at_once(offers), shape::thread_per_request, 1);
    CHECK(found[lab::replay::most_threads - 1] == 1'000);
    CHECK(found.back() == 2'000);
}

TEST_CASE("a request that finds its worker asleep pays for waking it, one that finds it busy does not") {
    const schedule offered =
        paced({{.due_ns = 100, .turns = 50}, {.due_ns = 120, .turns = 50}, {.due_ns = 1'000, .turns = 50}});
    const costs each{.post = 5, .overhead = 3, .wake = 40};
    CHECK(ends_of(offered, shape::serial, 1, each)
          == ends{100 + 5 + 40 + 3 + 50, 198 + 53, 1'000 + 5 + 40 + 3 + 50});
}

TEST_CASE("nobody wakes without a request or beyond the number of workers") {
    const costs each{.wake = 40};
    const schedule blocks = paced({{.turns = 10, .block_ns = 1'000}, {.due_ns = 80, .turns = 10}});
    CHECK(ends_of(blocks, shape::elastic_pool, 1, each) == ends{1'050, 130});
    const schedule three =
        paced({{.due_ns = 0, .turns = 1}, {.due_ns = 10, .turns = 1}, {.due_ns = 45, .turns = 1}});
    CHECK(ends_of(three, shape::pool, 1, each) == ends{41, 42, 86});
    CHECK(ends_of(three, shape::thread_per_request, 1, each) == ends{41, 51, 86}); // a start of its own each
}

TEST_CASE("clients that slept are late, and post what came due meanwhile at once") {
    const schedule offered = paced({{.due_ns = 100, .turns = 1}, {.due_ns = 110, .turns = 1}});
    const prediction p =
        predict(offered, shape::pool, {.processors = 2, .workers = 2}, {.post = 5, .lag = 30});
    CHECK(p.record.lags_ns == std::vector<std::uint64_t>{30, 25});
    CHECK(p.ends_ns == ends{136, 141});
}

TEST_CASE("clients without a processor of their own share one with the workers") {
    const schedule offered = at_once({{.turns = 100}, {.turns = 100}});
    const costs each{.post = 10};
    CHECK(ends_of(offered, shape::serial, 1, each) == ends{110, 210});
    const prediction shared = predict(offered, shape::serial,
                                      {.processors = 1, .workers = 1, .has_clients_processor = false}, each);
    CHECK(shared.ends_ns == ends{120, 220}); // at half the speed while the second is posted
}

TEST_CASE("clients give up when the backlog is hopeless") {
    schedule offered = poisson(30, 400'000, false);
    offered.mean_ns = 1e6; // as if each were a hundred times as long: 2,000 may wait
    const prediction p = predict(offered, shape::serial, {}, none);
    CHECK(p.record.sent < 2'200);
    CHECK(p.record.sent == p.ends_ns.size());
    CHECK(figures_of(offered, p.record, p.ends_ns).at("sustained") == 0);
}

TEST_CASE("without a processor or a worker nothing can be predicted") {
    const schedule offered = at_once({{.turns = 1}});
    CHECK_THROWS_WITH_AS((void)predict(offered, shape::pool, {.processors = 0, .workers = 2}, none),
                         "predict: 0 processors and 2 workers; at least 1 of each is needed",
                         std::invalid_argument);
    CHECK_THROWS_AS((void)predict(offered, shape::pool, {.processors = 1, .workers = 0}, none),
                    std::invalid_argument);
}
