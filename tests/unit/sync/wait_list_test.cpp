#include <ekiden/sync/wait_list.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

using ekiden::wait_link;
using ekiden::wait_list;

namespace {

/// The same list in the plainest form: a vector in order of arrival.
struct reference {
    std::vector<wait_link*> order;

    wait_link* oldest(unsigned state) const {
        for (wait_link* w : order) {
            if ((w->mask >> state) & 1U) return w;
        }
        return nullptr;
    }
    void remove(wait_link* w) { std::erase(order, w); }
    std::uint64_t masks() const {
        std::uint64_t all = 0;
        for (const wait_link* w : order) all |= w->mask;
        return all;
    }
};

} // namespace

TEST_CASE("the oldest waiter whose mask holds the state is found, across masks") {
    wait_list list;
    std::array<wait_link, 4> w;
    w[0].mask = 0b001;
    w[1].mask = 0b010;
    w[2].mask = 0b011;
    w[3].mask = 0b100;
    for (auto& x : w) list.insert(x);
    CHECK(list.oldest(0) == &w[0]);
    CHECK(list.oldest(1) == &w[1]);
    list.remove(w[0]);
    list.remove(w[1]);
    CHECK(list.oldest(0) == &w[2]);
    CHECK(list.oldest(1) == &w[2]);
    CHECK(list.oldest(2) == &w[3]);
    CHECK(list.oldest(3) == nullptr);
    CHECK(list.masks() == 0b111);
    list.remove(w[2]);
    list.remove(w[3]);
    CHECK(list.empty());
    CHECK(list.longest() == 4);
}

TEST_CASE("a waiter that comes back gets its old place") {
    wait_list list;
    std::array<wait_link, 3> w;
    for (auto& x : w) {
        x.mask = 1;
        list.insert(x);
    }
    list.remove(w[0]);
    list.remove(w[1]);
    list.insert(w[1]);
    CHECK(list.oldest(0) == &w[1]);
    list.insert(w[0]);
    CHECK(list.oldest(0) == &w[0]);
    list.remove(w[0]);
    list.remove(w[1]);
    CHECK(list.oldest(0) == &w[2]);
    list.remove(w[2]);
}

TEST_CASE("any sequence of inserts and removals agrees with a plain vector, tickets wrapping") {
    wait_list list(~std::uint64_t{0} - 40);
    reference expected;
    std::array<wait_link, 24> pool;
    std::uint32_t seed = 12345;
    const auto random = [&seed](std::uint32_t bound) {
        seed = seed * 1664525U + 1013904223U;
        return (seed >> 8) % bound;
    };
    for (int step = 0; step < 20'000; ++step) {
        wait_link& w = pool[random(pool.size())];
        if (w.linked) {
            list.remove(w);
            expected.remove(&w);
            w.has_ticket = false;
        } else {
            w.mask = std::uint64_t{1} << random(5) | std::uint64_t{1} << random(62);
            list.insert(w);
            expected.order.push_back(&w);
        }
        REQUIRE(list.size() == expected.order.size());
        REQUIRE(list.masks() == expected.masks());
        REQUIRE(list.oldest() == (expected.order.empty() ? nullptr : expected.order.front()));
        const unsigned state = random(63);
        REQUIRE(list.oldest(state) == expected.oldest(state));
        REQUIRE(list.oldest(state % 5) == expected.oldest(state % 5));
    }
}
