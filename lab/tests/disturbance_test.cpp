#include <lab/harness/disturbance.hpp>

#include <doctest/doctest.h>

using lab::used_by_others;

namespace {

constexpr double ticks_per_s = 100;
const std::vector<int> both{0, 1};

// cpu1 spends 100 ticks more than cpu0, which has used 10 + 20 + 30 + 3 + 4 + 5 = 72.
const std::string before = "cpu  120 40 60 80 10 6 8 10 0 0\n"
                           "cpu0 10 20 30 4000 9 3 4 5 7 8\n"
                           "cpu1 110 20 30 4000 9 3 4 5 7 8\n"
                           "intr 12 0 0\n";
// cpu0: 50 ticks more of user, 30 more idle; cpu1: 80 more of steal.
const std::string after = "cpu  170 40 60 110 10 6 8 90 0 0\n"
                          "cpu0 60 20 30 4030 9 3 4 5 7 8\n"
                          "cpu1 110 20 30 4000 9 3 4 85 7 8\n"
                          "intr 13 0 0\n";

} // namespace

TEST_CASE("use counts neither idle time nor waiting for disks nor guests twice") {
    CHECK(lab::used_s(before, {0}, ticks_per_s).value() == doctest::Approx(0.72));
    CHECK(lab::used_s(before, {1}, ticks_per_s).value() == doctest::Approx(1.72));
    CHECK(lab::used_s(before, both, ticks_per_s).value() == doctest::Approx(2.44));
}

TEST_CASE("what others used is all use without one's own, over the time") {
    CHECK(used_by_others(before, after, both, ticks_per_s, 1.0, 0).value() == doctest::Approx(1.3));
    CHECK(used_by_others(before, after, both, ticks_per_s, 2.0, 0.3).value() == doctest::Approx(0.5));
    CHECK(used_by_others(before, after, {0}, ticks_per_s, 1.0, 0).value() == doctest::Approx(0.5));
}

TEST_CASE("what others used is never below nothing, for clocks are coarse") {
    CHECK(used_by_others(before, after, both, ticks_per_s, 1.0, 1.4).value() == doctest::Approx(0));
}

TEST_CASE("a system that does not tell of each processor tells nothing") {
    CHECK_FALSE(lab::used_s("", both, ticks_per_s).has_value());
    CHECK_FALSE(lab::used_s(before, {0, 2}, ticks_per_s).has_value());
    CHECK_FALSE(lab::used_s("cpu0 1 2 3\n", {0}, ticks_per_s).has_value());
    CHECK_FALSE(used_by_others(before, "", both, ticks_per_s, 1.0, 0).has_value());
    CHECK_FALSE(used_by_others(before, after, both, ticks_per_s, 0.0, 0).has_value());
}

TEST_CASE("others disturb when they leave less than nine tenths of what is wanted") {
    CHECK_FALSE(lab::disturbed(0.19, 2, 2));
    CHECK(lab::disturbed(0.21, 2, 2));
    CHECK_FALSE(lab::disturbed(40, 64, 4)); // a machine of which only a part may be used
    CHECK(lab::disturbed(61, 64, 4));
}
