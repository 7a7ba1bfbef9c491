#include <ekiden/queue/injection_queue.hpp>

#include <tests/unit/effort.hpp>
#include <tests/unit/queue/numbered_tasks.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

using ekiden::injection_ring;
using ekiden::ring_lease;
using ekiden::task;
using ekiden_test::numbered_tasks;

namespace {

constexpr std::uint64_t last_index = std::numeric_limits<std::uint64_t>::max();

/// A ring with `n` tasks, the consumers' leases, and where the indices start.
struct filled_ring {
    filled_ring(int n, std::uint64_t first) : all(n), ring(16, first) {
        for (int i = 0; i != n; ++i) ring.push(all.at(i));
    }
    numbered_tasks all;
    injection_ring ring;
    std::array<ring_lease, 3> leases;

    [[nodiscard]] bool maybe_filled() const { return ring.maybe_filled(leases); }
};

/// Around the end of 64 bits, of the 41 bits that a word holds, and in the midst of a lease.
constexpr std::array first_indices{std::uint64_t{0}, last_index, last_index - 2, (std::uint64_t{1} << 41) - 2,
                                   last_index - 100};

} // namespace

TEST_CASE("A consumer alone takes what it has leased in order, one lease after the other") {
    for (const std::uint64_t first : first_indices) {
        filled_ring r(200, first);
        for (int i = 0; i != 200; ++i) {
            REQUIRE(r.maybe_filled());
            task* next = r.leases[0].take();
            REQUIRE((next == nullptr) == (i % (1 + static_cast<int>(ring_lease::longest)) == 0));
            if (next == nullptr) next = r.ring.take_and_lease(r.leases, 0);
            REQUIRE(next == r.all.at(i));
        }
        CHECK_FALSE(r.maybe_filled());
        CHECK(r.leases[0].take() == nullptr);
    }
}

TEST_CASE("Nobody takes or leases behind a lease that is not used up") {
    for (const std::uint64_t first : first_indices) {
        filled_ring r(70, first);
        REQUIRE(r.ring.take_and_lease(r.leases, 0) == r.all.at(0));
        for (int i = 1; i != 65; ++i) {
            CHECK(r.ring.take_one(r.leases) == nullptr);
            CHECK(r.ring.take_and_lease(r.leases, 1) == nullptr);
            REQUIRE(r.leases[0].take() == r.all.at(i));
        }
        CHECK(r.ring.take_and_lease(r.leases, 1) == r.all.at(65)); // though consumer 0 has not come back
        CHECK(r.leases[0].take() == nullptr);
        CHECK(r.ring.take_and_lease(r.leases, 0) == nullptr);
        for (int i = 66; i != 70; ++i) REQUIRE(r.leases[1].take() == r.all.at(i));
        CHECK_FALSE(r.maybe_filled());
    }
}

TEST_CASE("Thieves and the holder of a lease take the oldest task in turn") {
    for (const std::uint64_t first : first_indices) {
        for (const int before : {0, 1, 7}) {
            filled_ring r(12, first);
            REQUIRE(r.ring.take_and_lease(r.leases, 0) == r.all.at(0));
            CHECK(r.ring.steal(r.leases, 0) == nullptr); // from itself
            int next = 1;
            for (int i = 0; i != before; ++i) REQUIRE(r.leases[0].take() == r.all.at(next++));
            while (next + 3 <= 12) {
                REQUIRE(r.maybe_filled());
                REQUIRE(r.ring.steal(r.leases, 1) == r.all.at(next++));
                REQUIRE(r.leases[0].take() == r.all.at(next++));
                REQUIRE(r.ring.steal(r.leases, 2) == r.all.at(next++));
            }
            for (; next != 12; ++next) REQUIRE(r.ring.steal(r.leases, 1) == r.all.at(next));
            CHECK(r.ring.steal(r.leases, 1) == nullptr);
            CHECK(r.leases[0].take() == nullptr);
            CHECK_FALSE(r.maybe_filled());
        }
    }
}

TEST_CASE("A task that is alone is taken without a lease") {
    filled_ring r(1, last_index);
    CHECK(r.ring.take_and_lease(r.leases, 0) == r.all.at(0));
    CHECK_FALSE(r.maybe_filled());
    CHECK(r.ring.steal(r.leases, 1) == nullptr);
}

TEST_CASE("A consumer that goes to another ring leaves nothing behind there") {
    filled_ring one(5, last_index);
    numbered_tasks others(5);
    injection_ring two(16, last_index, 1); // its first lease has the same end
    for (int i = 0; i != 5; ++i) two.push(others.at(i));
    auto& leases = one.leases;
    REQUIRE(one.ring.take_and_lease(leases, 0) == one.all.at(0));
    for (int i = 1; i != 5; ++i) REQUIRE(leases[0].take() == one.all.at(i));
    REQUIRE(two.take_and_lease(leases, 0) == others.at(0));
    CHECK_FALSE(one.maybe_filled());
    CHECK(one.ring.steal(leases, 1) == nullptr);
    CHECK(two.steal(leases, 1) == others.at(1));
    CHECK(leases[0].take() == others.at(2));
}

TEST_CASE("The producer overwrites nothing of a lease, whoever takes from it") {
    numbered_tasks all(100);
    injection_ring ring(4, last_index);
    std::array<ring_lease, 2> leases;
    for (int i = 0; i != 4; ++i) ring.push(all.at(i));
    REQUIRE(ring.take_and_lease(leases, 0) == all.at(0));
    REQUIRE(leases[0].take() == all.at(1));
    for (int i = 4; i != 100; ++i) ring.push(all.at(i));
    REQUIRE(ring.steal(leases, 1) == all.at(2));
    REQUIRE(leases[0].take() == all.at(3));
    for (int i = 4; i != 69; ++i) {
        task* next = leases[0].take();
        if (next == nullptr) next = ring.take_and_lease(leases, 0);
        REQUIRE(next == all.at(i));
    }
}

TEST_CASE("Each task is taken once, and after all before it, while consumers lease and steal") {
    constexpr std::size_t consumers = 3;
    const int n = ekiden_test::rounds(300'000);
    numbered_tasks all(n);
    injection_ring ring(2, last_index - static_cast<std::uint64_t>(n) / 2);
    std::array<ring_lease, consumers> leases;
    std::atomic<int> taken{0};
    std::atomic<int> too_early{0};
    std::vector<std::thread> threads;
    for (std::size_t me = 0; me != consumers; ++me) {
        threads.emplace_back([&, me] {
            int mine = 0;
            while (taken.load() != n) {
                task* next = leases[me].take();
                if (next == nullptr) next = ring.take_and_lease(leases, me);
                if (next == nullptr && mine % 64 < 8) next = ring.steal(leases, me);
                if (next == nullptr) {
                    ++mine;
                    std::this_thread::yield();
                    continue;
                }
                // At most one older task for each other consumer has been taken but not counted.
                const int number = ekiden_test::take(next).number;
                if (taken.load() + static_cast<int>(consumers) - 1 < number) too_early.fetch_add(1);
                taken.fetch_add(1);
                mine += number % 5 == 0;
            }
        });
    }
    for (int i = 0; i != n; ++i) {
        ring.push(all.at(i));
        if (i % 1000 == 0) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(all.taken_wrongly() == 0);
    CHECK(too_early.load() == 0);
    CHECK_FALSE(ring.maybe_filled(leases));
}
