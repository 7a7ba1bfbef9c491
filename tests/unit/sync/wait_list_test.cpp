#include <ekiden/sync/detail/wait_list.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

using ekiden::wait_link;
using ekiden::wait_list;

namespace {

/// The same list in the plainest form: a vector in order of arrival, in which one that is lent keeps its
/// place.
struct reference {
    std::vector<wait_link*> order;
    wait_link* lent = nullptr;

    template <class Accept>
    wait_link* oldest(Accept accept) const {
        for (wait_link* w : order) {
            if (w != lent && accept(*w)) return w;
        }
        return nullptr;
    }
    wait_link* oldest(unsigned state) const {
        return oldest([state](const wait_link& w) { return ((w.mask >> state) & 1U) != 0; });
    }
    void remove(wait_link* w) { std::erase(order, w); }
    std::size_t size() const { return order.size() - (lent != nullptr ? 1 : 0); }
    std::uint64_t masks() const {
        std::uint64_t all = 0;
        for (const wait_link* w : order) all |= w == lent ? 0 : w->mask;
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
    CHECK(list.size() == 2);
    list.remove(w[2]);
    list.remove(w[3]);
    CHECK(list.empty());
}

TEST_CASE("a waiter that is lent gets its old place again") {
    wait_list list;
    std::array<wait_link, 3> w;
    for (auto& x : w) {
        x.mask = 1;
        list.insert(x);
    }
    list.lend(w[0]);
    list.insert(w[0]);
    CHECK(list.oldest(0) == &w[0]);
    list.remove(w[0]);
    list.lend(w[1]);
    list.insert(w[1]);
    CHECK(list.oldest(0) == &w[1]);
    list.remove(w[1]);
    CHECK(list.oldest(0) == &w[2]);
    list.remove(w[2]);
}

TEST_CASE("a waiter that is lent stays older than those who come when the list has been empty meanwhile") {
    wait_list list;
    std::array<wait_link, 7> w;
    for (auto& x : w) x.mask = 1;
    for (int i = 0; i < 5; ++i) list.insert(w[i]); // so that its ticket is a high one
    for (int i = 0; i < 4; ++i) list.remove(w[i]);
    list.lend(w[4]);
    list.insert(w[5]);
    list.remove(w[5]);
    std::construct_at(&w[5]);
    w[5].mask = 2;
    list.insert(w[6]);
    list.insert(w[5]);
    list.insert(w[4]);
    CHECK(list.oldest() == &w[4]);
    for (const int i : {4, 6, 5}) {
        CHECK(list.oldest() == &w[i]);
        list.remove(w[i]);
    }
    CHECK(list.empty());
}

TEST_CASE("the note of a list stays whatever comes and goes") {
    wait_list list;
    std::array<wait_link, 2> w;
    CHECK(list.note() == 0);
    list.set_note(wait_list::max_note);
    for (auto& x : w) list.insert(x);
    CHECK(list.note() == wait_list::max_note);
    list.set_note(5);
    CHECK(list.oldest() == w.data());
    list.lend(w[0]);
    list.remove(w[1]);
    CHECK(list.note() == 5);
    CHECK(list.empty());
}

TEST_CASE("any sequence of inserts, removals and loans agrees with a plain vector, tickets wrapping") {
    wait_list list;
    reference expected;
    std::array<wait_link, 24> pool;
    std::uint32_t seed = 12345;
    const auto random = [&seed](std::uint32_t bound) {
        seed = seed * 1664525U + 1013904223U;
        return (seed >> 8) % bound;
    };
    int times_empty = 0;
    int loans_over_empty = 0;
    bool was_empty = false;
    for (int step = 0; step < 40'000; ++step) {
        wait_link& w = pool[random(pool.size())];
        const bool fills = step / 200 % 2 == 0; // in turns the list grows and runs empty
        if (w.linked()) {
            if (fills && random(4) != 0) continue;
            if (random(3) == 0) {
                if (expected.lent != nullptr) { // that one never comes back
                    expected.remove(expected.lent);
                    std::construct_at(expected.lent);
                }
                expected.lent = &w;
                list.lend(w);
                was_empty = false;
            } else {
                list.remove(w);
                expected.remove(&w);
                std::construct_at(&w);
            }
        } else if (&w == expected.lent) {
            list.insert(w);
            expected.lent = nullptr;
            loans_over_empty += was_empty;
        } else {
            if (!fills && random(8) != 0) continue;
            w.mask = std::uint64_t{1} << random(5) | std::uint64_t{1} << random(62);
            if (random(4) != 0) w.mask = 1U << random(3); // several with the same mask
            list.insert(w);
            expected.order.push_back(&w);
        }
        times_empty += list.empty();
        was_empty |= list.empty();
        REQUIRE(list.size() == expected.size());
        REQUIRE(list.masks() == expected.masks());
        REQUIRE(list.oldest() == expected.oldest([](const wait_link&) { return true; }));
        const unsigned state = random(63);
        REQUIRE(list.oldest(state) == expected.oldest(state));
        REQUIRE(list.oldest(state % 5) == expected.oldest(state % 5));
    }
    CHECK(times_empty > 30);
    CHECK(loans_over_empty > 10);
}
