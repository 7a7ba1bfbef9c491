#include <lab/harness/statistics.hpp>

#include <doctest/doctest.h>
#include <stdexcept>
#include <vector>

using lab::quantile;
using lab::summarise;

TEST_CASE("a quantile lies between its neighbours in proportion") {
    const std::vector<double> four{10, 20, 30, 40};
    CHECK(quantile(four, 0) == doctest::Approx(10));
    CHECK(quantile(four, 0.5) == doctest::Approx(25));
    CHECK(quantile(four, 0.25) == doctest::Approx(17.5));
    CHECK(quantile(four, 0.99) == doctest::Approx(39.7));
    CHECK(quantile(four, 1) == doctest::Approx(40));
}

TEST_CASE("every quantile of one value is that value") {
    const std::vector<double> one{7};
    for (const double q : {0.0, 0.3, 1.0}) CHECK(quantile(one, q) == doctest::Approx(7));
}

TEST_CASE("a quantile of nothing or beyond its range is refused") {
    CHECK_THROWS_WITH_AS((void)quantile({}, 0.5), "quantile: sorted is empty; at least one value is needed",
                         std::invalid_argument);
    const std::vector<double> one{7};
    CHECK_THROWS_AS((void)quantile(one, 1.01), std::invalid_argument);
    CHECK_THROWS_AS((void)quantile(one, -0.01), std::invalid_argument);
}

TEST_CASE("a summary does not depend on the order of the values") {
    const lab::summary s = summarise({5, 1, 4, 2, 3});
    CHECK(s.count == 5);
    CHECK(s.minimum == 1);
    CHECK(s.lower_quartile == 2);
    CHECK(s.median == 3);
    CHECK(s.upper_quartile == 4);
    CHECK(s.maximum == 5);
}

TEST_CASE("a summary of nothing is refused") { CHECK_THROWS_AS((void)summarise({}), std::invalid_argument); }
