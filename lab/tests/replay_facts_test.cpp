#include <lab/replay/facts.hpp>
#include <lab/replay/point.hpp>
#include <lab/replay/schedule.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace lab::replay;

namespace {

request_trace trace_of(std::vector<request> requests, std::uint32_t keys) {
    request_trace made;
    made.requests = std::move(requests);
    made.keys = keys;
    return made;
}

} // namespace

TEST_CASE("Kingman's estimate is the known wait where one is known") {
    // M/M/1: rho/(1-rho) S; M/D/1: half of it; D/D/1: none. Half a server busy: S is 100 us, 5,000 a second.
    trace_facts f{.mean_service_us = 100, .arrival_cv2 = 1, .service_cv2 = 1};
    CHECK(kingman_wait_us(f, 5'000) == doctest::Approx(100));
    CHECK(kingman_wait_us(f, 8'000) == doctest::Approx(400));
    f.service_cv2 = 0;
    CHECK(kingman_wait_us(f, 8'000) == doctest::Approx(200));
    f.arrival_cv2 = 0;
    CHECK(kingman_wait_us(f, 8'000) == doctest::Approx(0));
    f = {.mean_service_us = 20, .mean_block_us = 80, .arrival_cv2 = 1, .service_cv2 = 1};
    CHECK(kingman_wait_us(f, 5'000) == doctest::Approx(100)); // waiting inside keeps the server, too
    CHECK(std::isinf(kingman_wait_us(f, 10'000)));
    CHECK(std::isinf(kingman_wait_us(f, 20'000)));
}

TEST_CASE("facts of a trace are those that are counted by hand") {
    // Gaps 10, 30, 20 us: mean 20, variance 100. Services 10, 10, 10, 50 us: with the wait of 40, 10, 10,
    // 50, 50.
    const trace_facts f =
        describe(trace_of({{.arrival_ns = 0, .service_ns = 10'000, .key = 0},
                           {.arrival_ns = 10'000, .service_ns = 10'000, .key = 0},
                           {.arrival_ns = 40'000, .service_ns = 10'000, .block_ns = 40'000, .key = 1},
                           {.arrival_ns = 60'000, .service_ns = 50'000, .key = 0}},
                          2));
    CHECK(f.rate == doctest::Approx(4 / 80e-6));
    CHECK(f.peak_rate == doctest::Approx(f.rate)); // shorter than a second
    CHECK(f.mean_service_us == doctest::Approx(20));
    CHECK(f.mean_block_us == doctest::Approx(10));
    CHECK(f.blocking_share == doctest::Approx(0.25));
    CHECK(f.arrival_cv2 == doctest::Approx(100.0 / 400));
    CHECK(f.service_cv2 == doctest::Approx(4 * 400.0 / 3 / 900));
    CHECK(f.hottest_share == doctest::Approx(0.75));
    CHECK(f.hottest_us == doctest::Approx(70.0 / 3));
    CHECK(bound_of_hottest_key(f) == doctest::Approx(1e6 / (0.75 * 70 / 3)));
    CHECK(bound_of_processors(f, 2) == doctest::Approx(100'000));
}

TEST_CASE("the hottest key is that with most of the time, not with most of the requests") {
    const trace_facts f =
        describe(trace_of({{.arrival_ns = 0, .service_ns = 1'000, .key = 0},
                           {.arrival_ns = 1'000, .service_ns = 1'000, .key = 0},
                           {.arrival_ns = 2'000, .service_ns = 0, .block_ns = 9'000, .key = 1},
                           {.arrival_ns = 3'000, .service_ns = 1'000, .key = 2}},
                          3));
    CHECK(f.hottest_share == doctest::Approx(0.25));
    CHECK(f.hottest_us == doctest::Approx(9));
}

TEST_CASE("without any work nothing bounds the rate") {
    const trace_facts f = describe(trace_of({{}, {.arrival_ns = 5}}, 1));
    CHECK(std::isinf(bound_of_hottest_key(f)));
    CHECK(std::isinf(bound_of_processors(f, 1)));
    CHECK(kingman_wait_us(f, 1e9) == 0);
}

TEST_CASE("the peak is the busiest second, wherever it begins") {
    std::vector<request> all;
    for (std::uint64_t i = 0; i < 10; ++i) all.push_back({.arrival_ns = i * 1'000'000'000});
    for (std::uint64_t i = 0; i < 5; ++i) all.push_back({.arrival_ns = 9'500'000'000 + i});
    CHECK(describe(trace_of(all, 1)).peak_rate == 6);
}

TEST_CASE("a schedule stretches arrivals to a rate, repeats the trace, and keeps the services") {
    // Two requests in 20 us: 100,000 a second.
    const request_trace t = trace_of({{.arrival_ns = 0, .service_ns = 1'000, .key = 0},
                                      {.arrival_ns = 10'000, .service_ns = 3'000, .block_ns = 500, .key = 1}},
                                     2);
    REQUIRE(t.length_ns() == 20'000);
    const schedule s = make_schedule(t, 50'000, 5, 7);
    CHECK(s.is_paced());
    CHECK(s.keys == 2);
    REQUIRE(s.offers.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK(s.offers[i].due_ns == 20'000 * i);
        CHECK(s.offers[i].key == i % 2);
        CHECK(s.offers[i].turns == (i % 2 == 0 ? 7 : 21));
        CHECK(s.offers[i].block_ns == (i % 2 == 0 ? 0 : 500));
    }
    CHECK(s.mean_ns == doctest::Approx((3 * 1'000 + 2 * 3'500) / 5.0));
    CHECK(s.median_ns == 1'000);
    const schedule at_once = make_schedule(t, 0, 3, 7);
    CHECK_FALSE(at_once.is_paced());
    for (const offer& o : at_once.offers) CHECK(o.due_ns == 0);
    CHECK(make_schedule(t, 50'000, 1, 7).offers.size() == 1);
}

TEST_CASE("a backlog that climbs has grown, and one that swings or falls has not") {
    std::vector<std::size_t> climbing, swinging, falling, late;
    for (std::size_t i = 0; i < 6'000; ++i) {
        climbing.push_back(i / 10 + i % 7);
        swinging.push_back(50 + static_cast<std::size_t>(50 * std::sin(static_cast<double>(i) / 40)));
        falling.push_back(6'000 - i);
        late.push_back(i < 2'000 ? i : 2'000); // it fills once, and then stays
    }
    CHECK(has_grown(climbing));
    CHECK_FALSE(has_grown(swinging));
    CHECK_FALSE(has_grown(falling));
    CHECK_FALSE(has_grown(late));
    CHECK_FALSE(has_grown(std::vector<std::size_t>(6'000, 1'000)));
    CHECK_FALSE(has_grown({}));
    CHECK_FALSE(has_grown({0, 10, 20, 30}));
}
