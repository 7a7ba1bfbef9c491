#include <ekiden/queue/injection_queue.hpp>

#include <tests/unit/effort.hpp>
#include <tests/unit/failing_allocations.hpp>
#include <tests/unit/queue/numbered_tasks.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <new>
#include <thread>
#include <vector>

using ekiden::injection_ring;
using ekiden::task;
using ekiden_test::numbered_tasks;

namespace {

constexpr std::uint64_t nearly_wrapped = std::numeric_limits<std::uint64_t>::max() - 2;

} // namespace

TEST_CASE("An empty ring gives nothing") {
    injection_ring ring(4, nearly_wrapped);
    std::array<task*, 4> out{};
    CHECK_FALSE(ring.maybe_filled());
    CHECK(ring.claim(out) == 0);
    CHECK(ring.pushed() == 0);
}

TEST_CASE("A claim takes the oldest half rounded up and not more than there is room for") {
    numbered_tasks all(9);
    injection_ring ring(16, nearly_wrapped);
    for (int i = 0; i != 9; ++i) ring.push(all.at(i));
    std::array<task*, 16> out{};
    CHECK(ring.claim(std::span(out).first(0)) == 0);
    CHECK(ring.claim(std::span(out).first(2)) == 2); // of 9
    CHECK(out[0] == all.at(0));
    CHECK(out[1] == all.at(1));
    CHECK(ring.claim(out) == 4); // of 7
    CHECK(out[3] == all.at(5));
    CHECK(ring.claim(out) == 2); // of 3
    CHECK(ring.claim(out) == 1);
    CHECK(out[0] == all.at(8));
    CHECK(ring.claim(out) == 0);
    CHECK(ring.pushed() == 9);
}

TEST_CASE("A ring keeps the order across growth and wrap-around") {
    for (const std::size_t capacity : {1U, 2U, 64U}) {
        for (const std::uint64_t first : {std::uint64_t{0}, nearly_wrapped, nearly_wrapped - 500}) {
            numbered_tasks all(1000);
            injection_ring ring(capacity, first);
            std::array<task*, 7> out{};
            int pushed = 0;
            int claimed = 0;
            while (claimed != 1000) {
                for (int i = 0; i != 13 && pushed != 1000; ++i) ring.push(all.at(pushed++));
                const std::size_t count = ring.claim(std::span(out).first(1 + claimed % out.size()));
                for (std::size_t i = 0; i != count; ++i) REQUIRE(out[i] == all.at(claimed++));
                REQUIRE(ring.pushed() == static_cast<std::uint64_t>(pushed));
                REQUIRE(ring.maybe_filled() == (claimed != pushed));
            }
        }
    }
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("A ring that finds no memory to grow changes nothing") {
    for (int n = 0; n != 3; ++n) {
        numbered_tasks all(20);
        injection_ring ring(8, nearly_wrapped);
        for (int i = 0; i != 8; ++i) ring.push(all.at(i));
        {
            const ekiden_test::failing_allocation failing(n);
            CHECK_THROWS_AS(ring.push(all.at(8)), std::bad_alloc);
        }
        CHECK(ring.pushed() == 8);
        for (int i = 8; i != 20; ++i) ring.push(all.at(i));
        std::array<task*, 1> out{};
        for (int i = 0; i != 20; ++i) {
            REQUIRE(ring.claim(out) == 1);
            CHECK(out[0] == all.at(i));
        }
        CHECK(ring.claim(out) == 0);
    }
}
#endif

TEST_CASE("One task in sixty-four is stamped with its time") {
    numbered_tasks all(129);
    injection_ring ring(256, nearly_wrapped - 70);
    for (int i = 0; i != 129; ++i) {
        ring.push(all.at(i));
        CHECK((all.at(i)->queued_at != 0) == (i % 64 == 0));
    }
}

TEST_CASE("Each task is claimed once and in order by every consumer while the producer makes the ring grow") {
    const int n = ekiden_test::rounds(400'000);
    numbered_tasks all(n);
    injection_ring ring(2, nearly_wrapped - static_cast<std::uint64_t>(n) / 2);
    std::atomic<int> claimed{0};
    std::atomic<bool> disorder{false};
    std::vector<std::thread> consumers;
    for (std::size_t c = 0; c != 3; ++c) {
        consumers.emplace_back([&, c] {
            std::array<task*, 64> out{};
            int before = -1;
            while (claimed.load() != n) {
                const std::size_t count = ring.claim(std::span(out).first(c == 0 ? 1 : 64));
                for (std::size_t i = 0; i != count; ++i) {
                    const int number = ekiden_test::take(out[i]).number;
                    if (number <= before) disorder.store(true);
                    before = number;
                }
                if (count == 0) std::this_thread::yield();
                claimed.fetch_add(static_cast<int>(count));
            }
        });
    }
    for (int i = 0; i != n; ++i) {
        ring.push(all.at(i));
        if (i % 4096 == 0) std::this_thread::yield();
    }
    for (std::thread& thread : consumers) thread.join();
    CHECK(all.taken_wrongly() == 0);
    CHECK_FALSE(disorder.load());
}
