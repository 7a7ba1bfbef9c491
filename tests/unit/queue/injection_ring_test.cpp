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
#include <thread>
#include <vector>

using ekiden::injection_ring;
using ekiden::ring_lease;
using ekiden::task;
using ekiden_test::numbered_tasks;

TEST_CASE("An empty ring gives nothing") {
    injection_ring ring(4, nearly_wrapped);
    std::array<ring_lease, 2> leases;
    CHECK_FALSE(ring.maybe_filled(leases));
    CHECK(ring.take_one(leases) == nullptr);
    CHECK(ring.take_and_lease(leases, 1) == nullptr);
    CHECK(ring.steal(leases, 1) == nullptr);
    CHECK(leases[1].take() == nullptr);
    CHECK(ring.pushed() == 0);
}

TEST_CASE("A ring keeps the order across growth and wrap-around") {
    for (const std::size_t capacity : {1U, 2U, 64U}) {
        for (const std::uint64_t first : {std::uint64_t{0}, nearly_wrapped, nearly_wrapped - 500}) {
            for (const bool leases_some : {false, true}) {
                numbered_tasks all(1000);
                injection_ring ring(capacity, first);
                std::array<ring_lease, 1> lease;
                int pushed = 0;
                int taken = 0;
                while (taken != 1000) {
                    for (int i = 0; i != 13 && pushed != 1000; ++i) ring.push(all.at(pushed++));
                    for (int i = 0; i != 1 + taken % 17; ++i) {
                        task* next = lease[0].take();
                        if (next == nullptr)
                            next = leases_some ? ring.take_and_lease(lease, 0) : ring.take_one(lease);
                        if (next == nullptr) break;
                        REQUIRE(next == all.at(taken++));
                    }
                    REQUIRE(ring.pushed() == static_cast<std::uint64_t>(pushed));
                    REQUIRE(ring.maybe_filled(lease) == (taken != pushed));
                }
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
        for (int i = 0; i != 20; ++i) CHECK(ring.take_one({}) == all.at(i));
        CHECK(ring.take_one({}) == nullptr);
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
