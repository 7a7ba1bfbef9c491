#include <ekiden/timer/detail/timer_wheel.hpp>

#include "../effort.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace {

using ekiden::timer_wheel;

struct numbered : timer_wheel::node {
    explicit numbered(int n) noexcept : number(n) {}
    int number;
};

/// Returns the numbers of all nodes that are due at `until`, in the order in which the wheel returns them.
std::vector<int> popped(timer_wheel& wheel, std::uint64_t until) {
    std::vector<int> result;
    do {
        while (auto* const one = static_cast<numbered*>(wheel.pop(until))) result.push_back(one->number);
    } while (wheel.is_busy());
    return result;
}

void drain(timer_wheel& wheel) {
    while (wheel.take_any() != nullptr) {
    }
}

using numbers = std::vector<int>;

} // namespace

TEST_CASE("A node comes at its deadline, to the unit, and never before") {
    for (const std::uint64_t begin : {std::uint64_t{0}, std::uint64_t{12345}, UINT64_MAX - (1U << 20)}) {
        for (std::uint64_t distance = 1; distance < (1U << 20) - 2; distance = distance * 3 + 1) {
            timer_wheel wheel(begin);
            numbered one(1);
            wheel.schedule(one, begin + distance);
            CHECK(wheel.next() == begin + distance);
            CHECK(popped(wheel, begin + distance - 1).empty());
            CHECK(wheel.next() == begin + distance);
            CHECK(one.is_scheduled());
            CHECK(popped(wheel, begin + distance) == numbers{1});
            CHECK_FALSE(one.is_scheduled());
            CHECK(wheel.next() == timer_wheel::never);
        }
    }
}

TEST_CASE("Nodes with the same deadline come in the order in which they were scheduled, whenever that was") {
    timer_wheel wheel(0);
    std::deque<numbered> nodes;
    numbers expected;
    const std::uint64_t deadline = (std::uint64_t{1} << 40) + 77;
    for (int i = 0; i != 12; ++i) {
        nodes.emplace_back(i);
        expected.push_back(i);
        wheel.schedule(nodes.back(), deadline);
        CHECK(popped(wheel, deadline - (deadline >> (3 * i + 1)) - 1).empty()); // closer and closer
    }
    CHECK(popped(wheel, deadline) == expected);
}

TEST_CASE("Deadlines that have passed come at once, in order of schedule()") {
    timer_wheel wheel(1000);
    std::deque<numbered> nodes;
    const std::vector<std::uint64_t> deadlines{500, 1000, 0, 999, 500, 1001, 1000};
    for (int i = 0; const std::uint64_t d : deadlines) wheel.schedule(nodes.emplace_back(i++), d);
    CHECK(wheel.next() == 1000);
    CHECK(popped(wheel, 1000) == numbers{0, 1, 2, 3, 4, 6});
    CHECK(popped(wheel, 1001) == numbers{5});
}

TEST_CASE("Very many deadlines that have passed, each before the last one, take no longer than others") {
    constexpr int count = 1'000'000; // sorting each of them would take more than an hour
    timer_wheel wheel(std::uint64_t{1} << 40);
    std::deque<numbered> nodes;
    for (int i = 0; i != count; ++i) {
        wheel.schedule(nodes.emplace_back(i), wheel.now() - static_cast<std::uint64_t>(i));
    }
    CHECK(popped(wheel, wheel.now()).size() == count);
}

TEST_CASE("The latest deadline of all is kept, and comes at the end of time") {
    timer_wheel wheel(0);
    numbered last(1);
    wheel.schedule(last, timer_wheel::never);
    CHECK(popped(wheel, std::uint64_t{1} << 62).empty());
    CHECK(popped(wheel, timer_wheel::never - 1).empty());
    CHECK(popped(wheel, timer_wheel::never) == numbers{1});
    wheel.schedule(last, 5); // in the far past
    CHECK(popped(wheel, timer_wheel::never) == numbers{1});
}

TEST_CASE("A canceled node does not come, and its slot is found empty") {
    timer_wheel wheel(0);
    numbered near(1);
    numbered far(2);
    wheel.schedule(near, 100);
    wheel.schedule(far, 1'000'000);
    wheel.cancel(near);
    CHECK_FALSE(near.is_scheduled());
    CHECK(wheel.next() == 1'000'000);
    wheel.schedule(near, 2'000'000);
    wheel.cancel(far);
    CHECK(popped(wheel, 1'999'999).empty());
    CHECK(popped(wheel, 3'000'000) == numbers{1});
}

TEST_CASE("A crowded slot is taken down in steps, between which nodes can be canceled and scheduled") {
    timer_wheel wheel(0);
    std::deque<numbered> nodes;
    constexpr std::uint64_t start = std::uint64_t{1} << 30;
    constexpr int count = 5000;
    for (int i = 0; i != count; ++i) {
        const auto scattered = (static_cast<std::uint64_t>(i) * 7919) % count;
        wheel.schedule(nodes.emplace_back(static_cast<int>(scattered)), start + 1000 * scattered + 1);
    }
    CHECK(wheel.next() == start); // too many nodes to inspect, so it is a time before the first one
    CHECK(wheel.pop(start) == nullptr);
    REQUIRE(wheel.is_busy());
    CHECK(wheel.next() <= start);
    numbered extra(count);
    wheel.schedule(extra, start + 1);
    std::vector<numbered*> canceled;
    for (auto& one : nodes) {
        if (one.number % 3 == 0) {
            wheel.cancel(one);
            canceled.push_back(&one);
        }
    }
    const numbers all = popped(wheel, start + 1000 * count);
    CHECK(all.size() == count - canceled.size() + 1);
    CHECK(std::is_sorted(all.begin() + 1, all.end())); // `extra` is the first node
    CHECK(all.front() == count);
}

TEST_CASE("A clock that is set back takes all deadlines along") {
    timer_wheel wheel(1'000'000);
    numbered one(1);
    numbered two(2);
    numbered three(3);
    wheel.schedule(one, 1'000'500);
    wheel.schedule(two, 2'000'000);
    wheel.schedule(three, 1'000'001);
    CHECK(popped(wheel, 1'000'100) == numbers{3});
    wheel.restart(10);
    CHECK(wheel.is_busy());
    CHECK(wheel.next() <= 1'000'500);
    wheel.schedule(three, 500);
    CHECK(popped(wheel, 499).empty());
    CHECK(popped(wheel, 500) == numbers{3});
    CHECK(popped(wheel, 1'000'499).empty());
    CHECK(popped(wheel, 5'000'000) == numbers{1, 2});
}

TEST_CASE("Any node can be taken out, until there is none") {
    timer_wheel wheel(0);
    std::deque<numbered> nodes;
    for (int i = 0; i != 1000; ++i)
        wheel.schedule(nodes.emplace_back(i), (std::uint64_t{1} << (i % 64)) + static_cast<std::uint64_t>(i));
    numbers taken;
    while (auto* const one = static_cast<numbered*>(wheel.take_any())) taken.push_back(one->number);
    std::sort(taken.begin(), taken.end());
    CHECK(taken.size() == 1000);
    CHECK(std::unique(taken.begin(), taken.end()) == taken.end());
    CHECK(wheel.next() == timer_wheel::never);
}

namespace {

/// The same interface with a std::multimap, which keeps equal keys in order of insertion.
struct reference {
    std::multimap<std::uint64_t, int> nodes;

    numbers popped(std::uint64_t until) {
        numbers result;
        while (!nodes.empty() && nodes.begin()->first <= until) {
            result.push_back(nodes.begin()->second);
            nodes.erase(nodes.begin());
        }
        return result;
    }
    void cancel(int number) {
        nodes.erase(std::find_if(nodes.begin(), nodes.end(), [=](auto& n) { return n.second == number; }));
    }
};

std::uint64_t random_distance(std::mt19937_64& random, unsigned most_bits) {
    return random() >> (64 - 1 - random() % most_bits);
}

} // namespace

TEST_CASE("Random operations do the same as with a std::multimap, also where the numbers end") {
    constexpr std::uint64_t half = std::uint64_t{1} << 63;
    for (const std::uint64_t begin : {std::uint64_t{0}, half - 1000, UINT64_MAX - (std::uint64_t{1} << 50)}) {
        for (int seed = 0; seed != ekiden_test::rounds(60); ++seed) {
            std::mt19937_64 random(static_cast<std::uint64_t>(seed));
            const unsigned bits = 4 + static_cast<unsigned>(seed) % 45;
            timer_wheel wheel(begin);
            reference expected;
            std::deque<numbered> nodes;
            for (int i = 0; i != 200; ++i) nodes.emplace_back(i);
            std::uint64_t now = begin;
            bool agrees = true;
            for (int step = 0; step != 3000 && agrees; ++step) {
                numbered& one = nodes[random() % nodes.size()];
                switch (random() % 8) {
                case 0:
                    if (now < UINT64_MAX - (std::uint64_t{1} << 49)) now += random_distance(random, bits) / 8;
                    agrees = popped(wheel, now) == expected.popped(now);
                    break;
                case 1: {
                    const std::uint64_t next = wheel.next();
                    const std::uint64_t first =
                        expected.nodes.empty() ? timer_wheel::never : expected.nodes.begin()->first;
                    agrees = next <= std::max(first, now) && (next == timer_wheel::never || next >= now);
                    break;
                }
                default:
                    if (one.is_scheduled()) {
                        wheel.cancel(one);
                        expected.cancel(one.number);
                    } else {
                        const std::uint64_t distance = random_distance(random, bits);
                        const std::uint64_t at = now + std::min(distance, UINT64_MAX - now);
                        wheel.schedule(one, at);
                        expected.nodes.emplace(at, one.number);
                    }
                }
            }
            CHECK(agrees);
            CHECK(popped(wheel, UINT64_MAX) == expected.popped(UINT64_MAX));
            drain(wheel);
        }
    }
}
