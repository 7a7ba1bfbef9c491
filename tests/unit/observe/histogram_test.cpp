#include <ekiden/observe/detail/histogram.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <thread>

using ekiden::histogram;
using ekiden::histogram_snapshot;

namespace {

constexpr std::size_t last = histogram_snapshot::buckets - 1;
constexpr std::uint64_t longest = std::numeric_limits<std::uint64_t>::max();

} // namespace

TEST_CASE("Each bucket of a histogram begins where its lower bound says") {
    for (std::size_t bucket = 0; bucket <= last; ++bucket) {
        CAPTURE(bucket);
        const std::uint64_t bound = histogram_snapshot::lower_bound(bucket);
        CHECK(histogram_snapshot::bucket_of(bound) == bucket);
        if (bucket != 0) {
            CHECK(bound > histogram_snapshot::lower_bound(bucket - 1));
            CHECK(histogram_snapshot::bucket_of(bound - 1) == bucket - 1);
        }
    }
}

TEST_CASE("The first bucket begins at zero and the last one has no end") {
    CHECK(histogram_snapshot::lower_bound(0) == 0);
    CHECK(histogram_snapshot::lower_bound(last) == std::uint64_t{7} << 38);
    CHECK(histogram_snapshot::bucket_of(longest) == last);
    for (int bit = 41; bit != 64; ++bit) {
        CHECK(histogram_snapshot::bucket_of(std::uint64_t{1} << bit) == last);
    }
}

TEST_CASE("A bucket of a histogram is at most a quarter as wide as its lower bound") {
    for (std::size_t bucket = 4; bucket != last; ++bucket) {
        const std::uint64_t bound = histogram_snapshot::lower_bound(bucket);
        const std::uint64_t width = histogram_snapshot::lower_bound(bucket + 1) - bound;
        CHECK(4 * width <= bound);
    }
}

TEST_CASE("Longer durations are never in earlier buckets") {
    std::size_t before = 0;
    for (std::uint64_t ns = 0; ns < 100'000; ++ns) {
        const std::size_t bucket = histogram_snapshot::bucket_of(ns);
        REQUIRE(bucket >= before);
        REQUIRE(bucket <= before + 1);
        before = bucket;
    }
}

TEST_CASE("A histogram counts every record and only records") {
    histogram times;
    CHECK(times.snapshot().total() == 0);
    for (const std::uint64_t ns : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{5}, longest})
        times.record(ns);
    const histogram_snapshot seen = times.snapshot();
    CHECK(seen.total() == 4);
    CHECK(seen.counts[0] == 1);
    CHECK(seen.counts[5] == 2);
    CHECK(seen.counts[last] == 1);
}

TEST_CASE("The quantile of no records is zero") {
    const histogram_snapshot empty;
    for (const double q : {-1.0, 0.0, 0.5, 1.0, 2.0}) CHECK(empty.quantile(q) == 0);
}

TEST_CASE("A quantile is a duration that its share of the records does not exceed") {
    histogram times;
    for (std::uint64_t ns = 1; ns <= 1000; ++ns) times.record(ns * 1000);
    const histogram_snapshot seen = times.snapshot();
    for (const double q : {0.001, 0.25, 0.5, 0.75, 0.99, 0.999, 1.0}) {
        CAPTURE(q);
        const auto exact = static_cast<std::uint64_t>(q * 1000) * 1000;
        CHECK(seen.quantile(q) >= exact);
        CHECK(seen.quantile(q) <= exact + exact / 4 + 1);
    }
}

TEST_CASE("A quantile above all but one of few records is that one") {
    histogram times;
    for (int i = 0; i != 9; ++i) times.record(10);
    times.record(1'000'000);
    CHECK(times.snapshot().quantile(0.5) < 20);
    CHECK(times.snapshot().quantile(0.9) < 20);
    CHECK(times.snapshot().quantile(0.95) >= 1'000'000);
    CHECK(times.snapshot().quantile(0.99) >= 1'000'000);
    CHECK(times.snapshot().quantile(1.0) >= 1'000'000);
}

TEST_CASE("Quantiles grow with their share and bounds outside of zero to one are the nearest inside") {
    histogram times;
    for (std::uint64_t ns = 1; ns < 1u << 20; ns = ns * 3 / 2 + 1) times.record(ns);
    const histogram_snapshot seen = times.snapshot();
    std::uint64_t before = 0;
    for (int percent = 0; percent <= 100; ++percent) {
        const std::uint64_t value = seen.quantile(percent / 100.0);
        CHECK(value >= before);
        before = value;
    }
    CHECK(seen.quantile(-3) == seen.quantile(0));
    CHECK(seen.quantile(7) == seen.quantile(1));
}

TEST_CASE("A quantile in the open last bucket is the beginning of that bucket") {
    histogram times;
    times.record(longest);
    CHECK(times.snapshot().quantile(1) == histogram_snapshot::lower_bound(last));
}

TEST_CASE("The sum of two histograms counts the records of both") {
    histogram one;
    histogram two;
    one.record(1);
    two.record(1);
    two.record(longest);
    histogram_snapshot sum = one.snapshot();
    sum += two.snapshot();
    CHECK(sum.total() == 3);
    CHECK(sum.counts[1] == 2);
    CHECK(sum.counts[last] == 1);
}

TEST_CASE("A histogram can be read while its owner records and never shrinks") {
    constexpr std::uint64_t records = 200'000;
    histogram times;
    std::thread owner([&] {
        for (std::uint64_t ns = 0; ns != records; ++ns) times.record(ns);
    });
    std::uint64_t before = 0;
    while (before != records) {
        const std::uint64_t total = times.snapshot().total();
        REQUIRE(total >= before);
        REQUIRE(total <= records);
        before = total;
    }
    owner.join();
}
