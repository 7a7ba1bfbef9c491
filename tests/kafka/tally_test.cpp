#include <tests/kafka/tally.hpp>

#include <doctest/doctest.h>

namespace kafka_soak {
namespace {

using namespace std::chrono_literals;
using seen = sequences::seen;

TEST_CASE("kafka soak: a record that follows a later one of its key is late, and a second sight is not") {
    sequences effects(2, 10);
    CHECK(effects.add({0, 3, 0}) == seen::next);
    CHECK(effects.add({0, 3, 2}) == seen::ahead);
    CHECK(effects.add({0, 3, 1}) == seen::late);
    CHECK(effects.add({0, 3, 1}) == seen::again);
    CHECK(effects.add({0, 3, 2}) == seen::again);
    CHECK(effects.add({1, 3, 0}) == seen::next); // another poster
    CHECK(effects.add({0, 4, 0}) == seen::next); // another key
    CHECK(effects.count() == 5);
}

TEST_CASE("kafka soak: records that were sent and not seen are missing") {
    sequences sent(1, 4), effects(1, 4), dead(1, 4);
    for (std::uint32_t n = 0; n < 100; ++n) sent.add({0, n % 4, n / 4});
    CHECK(sent.missing_in(effects, dead) == 100);
    for (std::uint32_t n = 0; n < 100; ++n)
        if (n != 17 && n != 99) effects.add({0, n % 4, n / 4});
    CHECK(sent.missing_in(effects, dead) == 2);
    dead.add({0, 17 % 4, 17 / 4});
    CHECK(sent.missing_in(effects, dead) == 1);
    CHECK(effects.missing_in(sent, sent) == 0);
}

TEST_CASE("kafka soak: an outcome counts doubled, late and unknown effects") {
    sequences sent(1, 1), effects(1, 1);
    for (std::uint32_t n = 0; n < 4; ++n) sent.add({0, 0, n});
    outcome out;
    for (const std::uint32_t n : {0U, 2U, 1U, 2U, 3U, 9U}) out.add(effects, sent, {0, 0, n});
    CHECK(out.order_violations == 1);
    CHECK(out.doubled == 1);
    CHECK(out.unknown == 1);
}

TEST_CASE("kafka soak: a stall counts only while records wait, and the owner tells its kind") {
    stall_watch watch(2);
    const time_point start{};
    watch.owner(0, 71);
    watch.owner(1, 72);
    watch.waiting(0, start + 100s); // no record waited before
    watch.waiting(0, start + 100s);
    watch.waiting(1, start + 101s);
    watch.progress(0, start + 102s);
    watch.owner(0, 72); // an heir
    watch.progress(1, start + 103s);
    watch.progress(0, start + 109s);
    const stalls found = watch.take(start + 500s);
    CHECK(found.kept == 2s);
    CHECK(found.heir == 7s);
    CHECK(found.whole == 6s);
    CHECK(watch.waiting() == 0);
    CHECK(watch.take(start + 600s).longest() == 0s);
}

TEST_CASE("kafka soak: a stall that still lasts is found") {
    stall_watch watch(1);
    watch.waiting(0, time_point{} + 1s);
    CHECK(watch.take(time_point{} + 4s).whole == 3s);
    CHECK(watch.take(time_point{} + 31s).kept == 30s);
}

TEST_CASE("kafka soak: functions that run again and functions of a key that overlap are counted") {
    call_watch calls(1, 10);
    calls.began(71, {0, 1, 0}, 1);
    calls.began(71, {0, 2, 0}, 1); // another key
    calls.began(72, {0, 1, 0}, 1); // another process: again, no overlap
    CHECK(calls.again() == 1);
    CHECK(calls.overlaps() == 0);
    calls.began(71, {0, 1, 1}, 1);
    CHECK(calls.overlaps() == 1);
    calls.ended(71, {0, 1, 0});
    calls.ended(71, {0, 1, 1});
    calls.began(71, {0, 1, 1}, 2); // a retry is no second run
    CHECK(calls.again() == 1);
    CHECK(calls.overlaps() == 1);
    calls.died(71);
    calls.began(71, {0, 1, 2}, 1);
    CHECK(calls.overlaps() == 1);
}

} // namespace
} // namespace kafka_soak
