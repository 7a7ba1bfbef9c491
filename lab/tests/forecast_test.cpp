#include <lab/replay/forecast.hpp>

#include <doctest/doctest.h>
#include <string>
#include <vector>

using lab::replay::costs;
using lab::replay::costs_of;
using lab::replay::describe_errors;
using lab::replay::forecast;
using lab::replay::measured_point;
using lab::replay::request_trace;
using lab::replay::shape;

namespace {

/// 1,000 requests, one each 100 us, of 20 us.
request_trace regular() {
    request_trace made;
    for (std::uint32_t i = 0; i < 1'000; ++i)
        made.requests.push_back({.arrival_ns = i * 100'000ULL, .service_ns = 20'000, .key = i % 10});
    made.keys = 10;
    return made;
}

/// As fast as possible: 20 us of work, 1 of posting, 4 of overhead; and 60 until an idle worker has woken.
measured_point fastest() {
    return {.model = "lanes",
            .rate = 0,
            .requests = 1'000,
            .figures = {{"shape", static_cast<double>(shape::keyed)},
                        {"rate", 80'000},
                        {"cpu_us", 25},
                        {"post_us", 1},
                        {"idle_us", 65},
                        {"idle_lag_us", 0}}};
}

nlohmann::json forecast_of(const std::vector<measured_point>& measured, int most_points = 1'000) {
    return forecast(regular(), measured, {.processors = 2, .workers = 2},
                    {.cores = 4,
                     .own_rate = 10'000,
                     .shares = {0.5},
                     .requests_at = [](double) { return std::size_t{1'000}; }},
                    [most_points]() mutable { return most_points-- > 0; });
}

} // namespace

TEST_CASE("costs are what is left of the measured figures, and never below nothing") {
    const costs found = costs_of(
        {{"cpu_us", 30}, {"post_us", 2}, {"idle_us", 100}, {"idle_lag_us", 50}, {"sleep_us", 7}}, 20);
    CHECK(found.post == doctest::Approx(2'000));
    CHECK(found.overhead == doctest::Approx(8'000));
    CHECK(found.lag == doctest::Approx(50'000));
    CHECK(found.wake == doctest::Approx(40'000)); // 100 - 50 - 2 - 8
    CHECK(found.sleep == doctest::Approx(7'000));
    const costs faster_than_the_work = costs_of({{"cpu_us", 19}, {"post_us", 2}, {"idle_us", 1}}, 20);
    CHECK(faster_than_the_work.overhead == 0);
    CHECK(faster_than_the_work.wake == 0);
}

TEST_CASE("a forecast plays each measured point, and compares it with what was measured") {
    const measured_point slow{.model = "lanes",
                              .rate = 10'000,
                              .requests = 1'000,
                              .figures = {{"sustained", 1}, {"p50_us", 42.5}, {"p99_us", 170}}};
    const nlohmann::json found = forecast_of({fastest(), slow});
    CHECK(found["costs"]["lanes"]["overhead_us"] == doctest::Approx(4));
    const nlohmann::json& at_once = found["predicted"][0];
    CHECK(at_once["model"] == "lanes");
    CHECK(at_once["cores"] == 2);
    CHECK(at_once["figures"]["rate"] == doctest::Approx(2e6 / 24).epsilon(0.02)); // the posts are not theirs
    CHECK(at_once["predicted_over_measured"]["rate"] == doctest::Approx(2e6 / 24 / 80'000).epsilon(0.02));
    const nlohmann::json& at_rate = found["predicted"][1];
    CHECK(at_rate["figures"]["p50_us"] == doctest::Approx(1 + 60 + 24));
    CHECK(at_rate["figures"]["sustained"] == 1);
    CHECK(at_rate["predicted_over_measured"]["p50_us"] == doctest::Approx(85 / 42.5));
    CHECK(at_rate["predicted_over_measured"]["p99_us"] == doctest::Approx(0.5));
    CHECK_FALSE(at_rate["predicted_over_measured"].contains("rate"));
}

TEST_CASE("a forecast plays other processors at the measured rates, twice the own, and shares of the new "
          "capacity") {
    const measured_point slow{.model = "lanes", .rate = 15'000, .requests = 1'000, .figures = {}};
    const nlohmann::json found = forecast_of({fastest(), slow});
    std::vector<double> rates;
    for (const nlohmann::json& one : found["predicted"])
        if (one["cores"] == 4) rates.push_back(one["rate"]);
    REQUIRE(rates.size() == 4);
    CHECK(std::vector<double>(rates.begin(), rates.begin() + 3) == std::vector<double>{0, 15'000, 20'000});
    CHECK(rates[3] == doctest::Approx(4e6 / 24 / 2).epsilon(0.05)); // and rounded
}

TEST_CASE("a model that was not measured as fast as possible has no forecast") {
    const measured_point slow{.model = "pool", .rate = 10'000, .requests = 1'000, .figures = {}};
    CHECK(forecast_of({slow})["predicted"].empty());
}

TEST_CASE("a forecast that is interrupted keeps what it has") {
    CHECK(forecast_of({fastest()}, 2)["predicted"].size() == 2);
    CHECK(forecast_of({fastest()}, 0)["predicted"].empty());
}

TEST_CASE("the delays of a model that does not keep up are not compared") {
    const measured_point over{.model = "lanes",
                              .rate = 200'000,
                              .requests = 1'000,
                              .figures = {{"sustained", 0}, {"p50_us", 5'000}}};
    const nlohmann::json found = forecast_of({fastest(), over});
    CHECK(found["predicted"][1]["rate"] == 200'000);
    CHECK(found["predicted"][1]["predicted_over_measured"].empty());
}

TEST_CASE("the errors of a forecast are one line for each figure") {
    const auto compared = [](double rate, double p50, double measured, double predicted) {
        return nlohmann::json{{"figures", {{"sustained", predicted}}},
                              {"measured", {{"sustained", measured}}},
                              {"predicted_over_measured", {{"rate", rate}, {"p50_us", p50}}}};
    };
    CHECK(describe_errors({compared(1, 0.5, 1, 1), compared(1.25, 0.75, 0, 1), compared(1.5, 1, 1, 1)})
          == "  capacity predicted / measured: median 1.25, quartiles 1.12 to 1.38, all 1.00 to 1.50 (3)\n"
             "  P50      predicted / measured: median 0.75, quartiles 0.62 to 0.88, all 0.50 to 1.00 (3)\n"
             "  whether a model keeps up: predicted as measured for 2 of 3 points\n");
    CHECK(describe_errors(nlohmann::json::array()).empty());
}
