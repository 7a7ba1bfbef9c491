#include <lab/replay/facts.hpp>
#include <lab/replay/make_trace.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

using namespace lab::replay;

namespace {

constexpr std::size_t many = 100'000;

std::string written(const trace_recipe& recipe) {
    std::ostringstream out;
    write_trace(out, make_trace(recipe));
    return out.str();
}

std::vector<double> gaps_ns(const request_trace& t) {
    std::vector<double> found;
    for (std::size_t i = 1; i < t.requests.size(); ++i)
        found.push_back(static_cast<double>(t.requests[i].arrival_ns - t.requests[i - 1].arrival_ns));
    return found;
}

std::vector<double> services_ns(const request_trace& t) {
    std::vector<double> found;
    for (const request& r : t.requests) found.push_back(static_cast<double>(r.service_ns));
    return found;
}

/// The mean of independent draws is within 5 of its standard errors of what it should be.
void check_mean(const std::vector<double>& draws, double mean, double deviation) {
    double sum = 0;
    for (const double d : draws) sum += d;
    const auto count = static_cast<double>(draws.size());
    CHECK(std::abs(sum / count - mean) <= 5 * deviation / std::sqrt(count) + 0.5); // and the rounding to ns
}

void check_share(std::size_t found, std::size_t of, double share) {
    const auto count = static_cast<double>(of);
    CHECK(std::abs(static_cast<double>(found) / count - share) <= 5 * std::sqrt(share * (1 - share) / count));
}

template <class Fits>
std::size_t count_of(const std::vector<double>& draws, Fits fits) {
    return static_cast<std::size_t>(std::count_if(draws.begin(), draws.end(), fits));
}

std::string refusal(const trace_recipe& recipe) {
    try {
        static_cast<void>(make_trace(recipe));
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST_CASE("the same recipe makes the same bytes, and another seed others") {
    for (const auto a : {arrivals::poisson, arrivals::bursts, arrivals::pareto}) {
        const trace_recipe r{.requests = 500, .arrivals = a, .block_share = 0.1};
        CHECK(written(r) == written(r));
        trace_recipe other = r;
        other.seed = 2;
        CHECK(written(r) != written(other));
    }
}

TEST_CASE("the first requests are the same from one version to the next") {
    CHECK(written({.requests = 3, .keys = 10})
          == "arrival_ns,key,service_ns,block_ns\n0,0,9260,0\n27649,1,375,0\n83172,2,30204,0\n");
}

TEST_CASE("another distribution of services leaves arrivals and keys") {
    const request_trace a = make_trace({.requests = 500});
    const request_trace b = make_trace({.requests = 500, .service = services::lognormal, .block_share = 0.5});
    for (std::size_t i = 0; i < 500; ++i) {
        CHECK(a.requests[i].arrival_ns == b.requests[i].arrival_ns);
        CHECK(a.requests[i].key == b.requests[i].key);
    }
}

TEST_CASE("what is made is what the reader takes") {
    for (const auto a : {arrivals::poisson, arrivals::bursts, arrivals::pareto}) {
        const trace_recipe r{
            .requests = 5'000, .arrivals = a, .service = services::pareto, .block_share = 0.1};
        std::istringstream in(written(r));
        const request_trace t = read_trace(in, "t", {});
        std::ostringstream out;
        write_trace(out, t);
        CHECK(out.str() == written(r));
        CHECK(t.remark.empty());
        CHECK(t.keys == make_trace(r).keys);
    }
}

TEST_CASE("arrivals of a Poisson process have exponential gaps") {
    const auto gaps = gaps_ns(make_trace({.requests = many, .rate = 5'000}));
    check_mean(gaps, 200'000, 200'000);
    for (const double x : {0.1, 1.0, 3.0})
        check_share(count_of(gaps, [&](double g) { return g > x * 200'000; }), gaps.size(), std::exp(-x));
}

TEST_CASE("arrivals as in ETC have the gaps that are published") {
    const double k = 0.154971;
    const double scale_ns = 16'029.2;
    const auto gaps = gaps_ns(make_trace({.requests = many, .arrivals = arrivals::pareto}));
    check_mean(gaps, scale_ns / (1 - k), scale_ns / (1 - k) / std::sqrt(1 - 2 * k));
    for (const double x : {0.1, 1.0, 5.0})
        check_share(count_of(gaps, [&](double g) { return g > x * scale_ns; }), gaps.size(),
                    std::pow(1 + k * x, -1 / k));
    const auto slow = gaps_ns(make_trace({.requests = many, .arrivals = arrivals::pareto, .rate = 1'000}));
    check_mean(slow, 1e6, 1e6 / std::sqrt(1 - 2 * k));
}

TEST_CASE("arrivals in bursts come at 5.5 times the mean rate for a tenth of the time") {
    // In 1,000 s there are some 10,000 bursts of 10 ms. In state s arrivals and length are a Poisson process
    // and an exponential time, so the number in a cycle of both has the variance m + m_b^2 + m_q^2 (m = m_b +
    // m_q: the mean numbers in the two states), and a cycle's length one of 0.01^2 + 0.09^2 s^2.
    const double rate = 1'000;
    const request_trace t = make_trace({.requests = 1'000'000, .arrivals = arrivals::bursts, .rate = rate});
    const double seconds = static_cast<double>(t.requests.back().arrival_ns) / 1e9;
    const double in_burst = 5.5 * rate * 0.01;
    const double in_quiet = 0.5 * rate * 0.09;
    // Of number - rate * length in a cycle, as the two go together within a state:
    const double variance =
        rate * 0.1 + std::pow(in_burst - rate * 0.01, 2) + std::pow(in_quiet - rate * 0.09, 2);
    const double cycles = seconds / 0.1;
    CHECK(std::abs(1e6 - rate * seconds) <= 5 * std::sqrt(variance * cycles));
    // The gaps are a mixture: 55 % within bursts. Nearly all shorter than 0.1 ms are theirs or the quiet's
    // chance.
    const auto gaps = gaps_ns(t);
    const double shorter = static_cast<double>(count_of(gaps, [](double g) { return g < 1e5; }))
                           / static_cast<double>(gaps.size());
    const double expected = 0.55 * (1 - std::exp(-0.55)) + 0.45 * (1 - std::exp(-0.05));
    CHECK(std::abs(shorter - expected) < 0.02);
    CHECK(describe(t).arrival_cv2 > 1.5);
}

TEST_CASE("services have the mean and the shape that are asked for") {
    const double mean = 20'000;
    SUBCASE("constant") {
        for (const double s : services_ns(make_trace({.requests = 100, .service = services::constant})))
            CHECK(s == mean);
    }
    SUBCASE("exponential") {
        const auto all = services_ns(make_trace({.requests = many, .service = services::exponential}));
        check_mean(all, mean, mean);
        check_share(count_of(all, [&](double s) { return s > mean; }), many, std::exp(-1));
    }
    SUBCASE("lognormal") {
        const auto all =
            services_ns(make_trace({.requests = many, .service = services::lognormal, .sigma = 0.5}));
        check_mean(all, mean, mean * std::sqrt(std::exp(0.25) - 1));
        check_share(count_of(all, [&](double s) { return s > mean * std::exp(-0.125); }), many, 0.5);
        // One standard deviation above the median.
        check_share(count_of(all, [&](double s) { return s > mean * std::exp(0.375); }), many, 0.158655);
    }
    SUBCASE("pareto") {
        const double a = 1.5;
        const auto all = services_ns(
            make_trace({.requests = many, .service = services::pareto, .alpha = a, .spread = 100}));
        const double cut = 1 - std::pow(100, -a);
        const double low = mean / (a / (a - 1) * (1 - std::pow(100, 1 - a)) / cut);
        const double square = low * low * a / (2 - a) * (std::pow(100, 2 - a) - 1) / cut;
        check_mean(all, mean, std::sqrt(square - mean * mean));
        CHECK(*std::min_element(all.begin(), all.end()) >= std::floor(low));
        CHECK(*std::max_element(all.begin(), all.end()) <= std::ceil(100 * low));
        check_share(count_of(all, [&](double s) { return s > 10 * low; }), many,
                    (std::pow(10, -a) - std::pow(100, -a)) / cut);
    }
    SUBCASE("bimodal") {
        const auto all = services_ns(make_trace({.requests = many, .service = services::bimodal}));
        check_share(count_of(all, [](double s) { return s == 500'000; }), many, 0.005);
        CHECK(count_of(all, [&](double s) { return s == 500'000 || s == mean; }) == many);
    }
}

TEST_CASE("keys are asked for as Zipf has it") {
    const request_trace t = make_trace({.requests = many, .keys = 100, .zipf = 1});
    std::vector<std::size_t> counts(t.keys);
    for (const request& r : t.requests) ++counts[r.key];
    std::sort(counts.rbegin(), counts.rend());
    double sum = 0;
    for (int r = 1; r <= 100; ++r) sum += 1.0 / r;
    CHECK(t.keys == 100);
    check_share(counts[0], many, 1 / sum);
    check_share(counts[1], many, 1 / sum / 2);
    check_share(counts[4], many, 1 / sum / 5);
    const request_trace even = make_trace({.requests = many, .keys = 4, .zipf = 0});
    counts.assign(4, 0);
    for (const request& r : even.requests) ++counts[r.key];
    for (const std::size_t c : counts) check_share(c, many, 0.25);
}

TEST_CASE("a share of the requests waits, half of them longer than the median") {
    const request_trace t = make_trace({.requests = many, .block_share = 0.1, .block_ns = 3'000'000});
    std::vector<double> waits;
    for (const request& r : t.requests)
        if (r.block_ns > 0) waits.push_back(static_cast<double>(r.block_ns));
    check_share(waits.size(), many, 0.1);
    check_share(count_of(waits, [](double w) { return w > 3'000'000; }), waits.size(), 0.5);
    check_share(count_of(waits, [](double w) { return w > 3'000'000 * std::numbers::e; }), waits.size(),
                0.158655);
}

TEST_CASE("a recipe that cannot be made says which option is wrong") {
    CHECK(refusal({.requests = 0}) == "--requests 0: allowed is 1 to 10000000");
    CHECK(refusal({.rate = -1}) == "--rate -1: allowed is 0.01 to 1e9 a second");
    CHECK(refusal({.rate = std::nan("")}) == "--rate nan: allowed is 0.01 to 1e9 a second");
    CHECK(refusal({.keys = 0}) == "--keys 0: allowed is 1 to 10000000");
    CHECK(refusal({.zipf = 11}) == "--zipf 11: allowed is 0 to 10");
    CHECK(refusal({.sigma = -1}) == "--sigma -1: allowed is 0 to 5");
    CHECK(refusal({.alpha = 1}) == "--alpha 1: allowed is 0 to 10, and neither 0 nor 1");
    CHECK(refusal({.spread = 1}) == "--spread 1: allowed is more than 1, to 1e9");
    CHECK(refusal({.long_share = 1.5}) == "--long-share 1.5: allowed is 0 to 1");
    CHECK(refusal({.block_share = -0.5}) == "--block-share -0.5: allowed is 0 to 1");
    CHECK(refusal({.requests = 1'000'000, .rate = 0.01})
          == "--rate 0.01: allowed is what leaves no pause of an hour, and ends in 104 days");
}

TEST_CASE("the command writes what is asked for, and refuses what it does not know") {
    const auto run = [](std::vector<std::string> words) {
        words.insert(words.begin(), "make-trace");
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        return make_trace_command(static_cast<int>(argv.size()), argv.data());
    };
    const std::string path = "make_trace_test_" + std::to_string(::getpid()) + ".csv";
    CHECK(run({path,    "--requests",   "50",  "--seed",        "3",       "--arrivals", "bursts", "--burst",
               "5ms",   "--keys",       "7",   "--service",     "bimodal", "--mean",     "1us",    "--long",
               "1.5ms", "--long-share", "0.5", "--block-share", "1",       "--block",    "2ms"})
          == 0);
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    std::filesystem::remove(path);
    CHECK(text.str()
          == written({.requests = 50,
                      .seed = 3,
                      .arrivals = arrivals::bursts,
                      .burst_ns = 5'000'000,
                      .keys = 7,
                      .service = services::bimodal,
                      .service_ns = 1'000,
                      .long_ns = 1'500'000,
                      .long_share = 0.5,
                      .block_share = 1,
                      .block_ns = 2'000'000}));
    for (const auto& wrong : std::vector<std::vector<std::string>>{{"--keys", "0"},
                                                                   {"--keys", "many"},
                                                                   {"--arrivals", "sometimes"},
                                                                   {"--mean", "20"},
                                                                   {"--unknown"},
                                                                   {"a", "b"}})
        CHECK(run(wrong) == 2);
    CHECK(run({"/no/such/folder/trace.csv"}) == 1);
}

TEST_CASE("a recipe is described by the options that make it again") {
    CHECK(describe({.requests = 5, .seed = 7, .arrivals = arrivals::pareto, .service = services::bimodal})
          == "make-trace --requests 5 --seed 7 --arrivals pareto --rate 52718.1 --keys 1000 --zipf 0.99 "
             "--service "
             "bimodal --mean 20000ns --long 500000ns --long-share 0.005 --block-share 0");
}
