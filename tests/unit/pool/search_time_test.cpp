#include <ekiden/pool/search_time.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using ekiden::search_time;

namespace {

constexpr std::uint64_t us = 1'000;
constexpr std::uint64_t wake_up = 45 * us;

/// A worker, and the time that it lives in.
struct worker {
    search_time looks;
    std::uint64_t now = 1'000'000 * us;

    /// Looks in vain, and is woken `gap` after it has begun.
    void sleep(std::uint64_t gap, std::uint64_t delay = wake_up) {
        look();
        looks.end_sleep(now + gap, now + gap + delay);
    }
    void look() {
        now += 1'000'000 * us;
        looks.begin(now);
    }
    void find_after(std::uint64_t gap) {
        look();
        looks.end_long_look(now + gap);
    }
    void sleeps(int times, std::uint64_t gap, std::uint64_t delay = wake_up) {
        for (int i = 0; i != times; ++i) sleep(gap, delay);
    }
};

} // namespace

TEST_CASE("a worker looks longer when some sleeps in turn would have been spared by it") {
    worker w;
    for (int i = 0; i != search_time::enough; ++i) {
        CHECK(w.looks.ns() == search_time::usual_ns);
        w.sleep(95 * us);
    }
    CHECK(w.looks.ns() == search_time::long_ns);
    w.find_after(95 * us); // the caller had been woken
    for (int i = 0; i != 10; ++i) {
        CHECK(w.looks.ns() == search_time::long_ns);
        w.find_after(i % 2 == 0 ? 50 * us : 95 * us);
    }
}

TEST_CASE("long looks that find something late, or nothing, end") {
    worker late;
    late.sleeps(search_time::enough, 95 * us);
    late.find_after(95 * us);
    late.find_after(95 * us);
    CHECK(late.looks.ns() == search_time::usual_ns);
    for (const std::uint64_t gap : {95 * us, 10'000 * us}) {
        worker in_vain;
        in_vain.sleeps(search_time::enough, 95 * us);
        in_vain.sleep(gap);
        CHECK(in_vain.looks.ns() == search_time::usual_ns);
    }
}

TEST_CASE("where work comes late each time a worker looks for a short time") {
    worker w;
    w.sleeps(search_time::enough - 1, 10'000 * us);
    CHECK(w.looks.ns() == search_time::usual_ns);
    w.sleep(10'000 * us);
    CHECK(w.looks.ns() == search_time::short_ns);
    w.sleep(10'000 * us);
    CHECK(w.looks.ns() == search_time::short_ns);
    w.sleep(15 * us);
    CHECK(w.looks.ns() == search_time::usual_ns);
}

TEST_CASE("sleeps of both kinds do not add up") {
    worker w;
    for (int i = 0; i != 10; ++i) {
        w.sleep(i % 2 == 0 ? 10'000 * us : 95 * us);
        CHECK(w.looks.ns() == search_time::usual_ns);
    }
}

TEST_CASE("where a wake-up costs little, a worker sleeps rather than look for long") {
    worker w;
    w.sleeps(10, 95 * us, 5 * us);
    CHECK(w.looks.ns() == search_time::short_ns);
}

TEST_CASE("a wake-up from before the look says nothing about it") {
    worker w;
    w.sleeps(search_time::enough, 95 * us);
    w.look();
    w.looks.end_sleep(1, w.now + us);
    CHECK(w.looks.ns() == search_time::long_ns);
}
