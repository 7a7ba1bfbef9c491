#include "nearly_wrapped.hpp"

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
#include <span>
#include <thread>
#include <vector>

using ekiden::injection_ring;
using ekiden::task;
using ekiden_test::numbered_tasks;

namespace {

task* take_one(injection_ring& ring) {
    task* taken = nullptr;
    return ring.take({&taken, 1}, 1) != 0 ? taken : nullptr;
}

} // namespace

TEST_CASE("An empty ring gives nothing") {
    injection_ring ring(4, nearly_wrapped);
    CHECK_FALSE(ring.maybe_filled());
    CHECK(take_one(ring) == nullptr);
    CHECK(ring.pushed() == 0);
}

TEST_CASE("A ring keeps the order across growth and wrap-around") {
    for (const std::size_t capacity : {1U, 2U, 64U}) {
        for (const std::uint64_t first : {std::uint64_t{0}, nearly_wrapped, nearly_wrapped - 500}) {
            for (const std::size_t most : {1U, 7U}) {
                numbered_tasks all(1000);
                injection_ring ring(capacity, first);
                std::array<task*, 7> taken{};
                int pushed = 0;
                int next = 0;
                while (next != 1000) {
                    for (int i = 0; i != 13 && pushed != 1000; ++i) ring.push(all.at(pushed++));
                    const std::size_t count = ring.take(std::span(taken).first(most), 1);
                    for (std::size_t i = 0; i != count; ++i) REQUIRE(taken[i] == all.at(next++));
                    REQUIRE(ring.pushed() == static_cast<std::uint64_t>(pushed));
                    REQUIRE(ring.maybe_filled() == (next != pushed));
                }
            }
        }
    }
}

TEST_CASE("A take leaves the others their share, but takes one at least") {
    numbered_tasks all(100);
    injection_ring ring(128, 0);
    std::array<task*, 65> taken{};
    for (int i = 0; i != 100; ++i) ring.push(all.at(i));
    CHECK(ring.take(taken, 1) == 65);
    CHECK(ring.take(taken, 4) == 9);   // 35 / 4 + 1
    CHECK(ring.take(taken, 100) == 1); // of 26
    CHECK(ring.take(std::span(taken).first(3), 1) == 3);
    CHECK(ring.take(taken, 1) == 22);
    CHECK(ring.take(taken, 1) == 0);
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
        for (int i = 0; i != 20; ++i) CHECK(take_one(ring) == all.at(i));
        CHECK(take_one(ring) == nullptr);
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
