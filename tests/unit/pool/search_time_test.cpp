#include <ekiden/pool/search_time.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using ekiden::search_time;

namespace {

constexpr std::uint64_t us = 1'000;

/// The worker has looked in vain; work came `gap` later, and woke it within `delay`.
void sleep(search_time& t, std::uint64_t gap, std::uint64_t delay) {
    static std::uint64_t now = 0;
    now += 1'000'000 * us;
    t.begin(now);
    t.end_sleep(now + gap, now + gap + delay);
}

} // namespace

TEST_CASE("a worker looks longer when some sleeps in turn would have been spared by it") {
    search_time t;
    CHECK(t.ns() == search_time::usual_ns);
    for (unsigned i = 0; i != search_time::enough; ++i) {
        CHECK(t.ns() == search_time::usual_ns);
        sleep(t, 95 * us, 45 * us);
    }
    CHECK(t.ns() == search_time::longest_ns);
}

TEST_CASE("one sleep that no look would have spared ends the long looks") {
    for (const std::uint64_t gap : {search_time::longest_ns + 1, 10'000 * us}) {
        search_time t;
        for (unsigned i = 0; i != 10; ++i) sleep(t, 95 * us, 45 * us);
        sleep(t, gap, 45 * us);
        CHECK(t.ns() == search_time::usual_ns);
    }
}

TEST_CASE("where a wake-up costs little, a worker sleeps rather than look for long") {
    search_time t;
    for (unsigned i = 0; i != 10; ++i) sleep(t, 95 * us, 5 * us);
    CHECK(t.ns() == search_time::usual_ns);
}

TEST_CASE("a wake-up from before the look says nothing about it") {
    search_time t;
    for (unsigned i = 0; i != 10; ++i) sleep(t, 95 * us, 45 * us);
    t.begin(5'000'000'000 * us);
    t.end_sleep(1, 5'000'000'001 * us);
    CHECK(t.ns() == search_time::longest_ns);
}
