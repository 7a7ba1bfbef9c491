#include <ekiden/fork/detail/fork_deque.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

using ekiden::fork_child;
using ekiden::fork_deque;

namespace {

constexpr std::uint64_t before_wrap = static_cast<std::uint64_t>(-10);

fork_child* numbered(std::uintptr_t number) { return reinterpret_cast<fork_child*>(number * 16); }
std::uintptr_t number_of(const fork_child* child) { return reinterpret_cast<std::uintptr_t>(child) / 16; }

} // namespace

TEST_CASE("fork_deque gives the newest one back and the oldest one away, across the wrap-around") {
    fork_deque ring(before_wrap);
    CHECK(ring.pop() == nullptr);
    CHECK(ring.steal() == nullptr);
    for (std::uintptr_t round = 0; round != 10; ++round) {
        for (std::uintptr_t i = 1; i <= 4; ++i) REQUIRE(ring.push(numbered(i)));
        CHECK(ring.size() == 4);
        CHECK(number_of(ring.pop()) == 4);
        CHECK(number_of(ring.steal()) == 1);
        CHECK(number_of(ring.pop()) == 3);
        CHECK(number_of(ring.pop()) == 2);
        CHECK(ring.pop() == nullptr);
        CHECK(ring.size() == 0);
    }
}

TEST_CASE("fork_deque refuses more than it can hold") {
    fork_deque ring(before_wrap);
    for (std::uintptr_t i = 1; i <= fork_deque::capacity; ++i) REQUIRE(ring.push(numbered(i)));
    CHECK_FALSE(ring.push(numbered(99)));
    CHECK(number_of(ring.steal()) == 1);
    CHECK(ring.push(numbered(99)));
    CHECK(number_of(ring.pop()) == 99);
}

TEST_CASE("fork_deque tells what was added after a moment, across the wrap-around") {
    fork_deque ring(static_cast<std::uint64_t>(-1));
    REQUIRE(ring.push(numbered(1)));
    const std::uint64_t moment = ring.next_index();
    CHECK(moment == 0);
    REQUIRE(ring.push(numbered(2)));
    const auto later = [&](std::uint64_t index) { return fork_deque::is_from(index, moment); };
    CHECK_FALSE(ring.has_from(moment));
    CHECK(ring.steal_if(later) == nullptr);
    CHECK(number_of(ring.steal()) == 1);
    CHECK(ring.has_from(moment));
    CHECK(number_of(ring.steal_if(later)) == 2);
    CHECK_FALSE(ring.has_from(moment));
}

TEST_CASE("each element of a fork_deque comes out once, whoever takes it") {
    fork_deque ring(before_wrap);
    constexpr std::uintptr_t count = 200'000;
    std::vector<std::atomic<int>> seen(count + 1);
    std::atomic<bool> ends = false;
    std::array<std::thread, 2> thieves;
    for (auto& thief : thieves) {
        thief = std::thread([&] {
            while (!ends) {
                if (const fork_child* child = ring.steal()) ++seen[number_of(child)];
            }
        });
    }
    std::uintptr_t next = 1;
    while (next <= count) {
        for (int i = 0; i != 3 && next <= count; ++i) {
            if (ring.push(numbered(next))) ++next;
        }
        if (const fork_child* child = ring.pop()) ++seen[number_of(child)];
    }
    while (const fork_child* child = ring.pop()) ++seen[number_of(child)];
    ends = true;
    for (auto& thief : thieves) thief.join();
    bool all_once = true;
    for (std::uintptr_t i = 1; i <= count; ++i) all_once = all_once && seen[i] == 1;
    CHECK(all_once);
}
