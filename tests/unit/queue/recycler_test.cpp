#include <ekiden/queue/recycler.hpp>

#include <tests/unit/child_process.hpp>
#include <tests/unit/effort.hpp>
#include <tests/unit/failing_allocations.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace recycler = ekiden::recycler;
using nodes = std::vector<void*>;

namespace {

constexpr std::array<std::size_t, 3> node_size{64, 128, 256};

nodes burst(std::size_t count, unsigned size_class = 0) {
    nodes made(count);
    for (void*& node : made) node = recycler::allocate(size_class);
    return made;
}

void free_all(const nodes& those, unsigned size_class = 0) {
    for (void* node : those) recycler::deallocate(node, size_class);
}

/// Runs in a thread of its own, so that it begins without nodes at hand.
template <class F>
void in_thread(F f) {
    std::thread(f).join();
}

} // namespace

TEST_CASE("Nodes are aligned and do not overlap whatever their size") {
    std::vector<std::pair<std::uintptr_t, std::size_t>> ranges;
    std::array<nodes, 3> made;
    for (int i = 0; i != 1000; ++i) {
        for (unsigned size_class = 0; size_class != 3; ++size_class) {
            void* const node = recycler::allocate(size_class);
            std::memset(node, 0xAB, node_size[size_class]);
            made[size_class].push_back(node);
            ranges.emplace_back(reinterpret_cast<std::uintptr_t>(node), node_size[size_class]);
        }
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 0; i != ranges.size(); ++i) {
        REQUIRE(ranges[i].first % 64 == 0);
        if (i != 0) REQUIRE(ranges[i - 1].first + ranges[i - 1].second <= ranges[i].first);
    }
    for (unsigned size_class = 0; size_class != 3; ++size_class) free_all(made[size_class], size_class);
}

TEST_CASE("The smallest node that holds an object is chosen") {
    static_assert(recycler::size_class(0) == 0);
    static_assert(recycler::size_class(64) == 0);
    static_assert(recycler::size_class(65) == 1);
    static_assert(recycler::size_class(128) == 1);
    static_assert(recycler::size_class(129) == 2);
    static_assert(recycler::size_class(256) == 2);
}

TEST_CASE("A freed node is handed out again before new memory is taken") {
    in_thread([] {
        free_all(burst(10));
        const std::size_t before = recycler::footprint();
        const auto allocations = ekiden_test::allocation_count();
        for (int i = 0; i != 100'000; ++i) recycler::deallocate(recycler::allocate(0), 0);
        CHECK(recycler::footprint() == before);
        CHECK(ekiden_test::allocation_count() == allocations);
    });
}

TEST_CASE("The footprint stays the same over bursts that another thread frees in random order") {
    in_thread([] {
        constexpr std::size_t size = 20000;
        std::mt19937 random(1);
        std::size_t after_first = 0;
        for (int round = 0; round != 20; ++round) {
            nodes made = burst(size);
            if (round % 2 == 1) std::shuffle(made.begin(), made.end(), random);
            in_thread([&] { free_all(made); });
            if (round == 0) after_first = recycler::footprint();
        }
        CHECK(recycler::footprint() == after_first);
    });
}

TEST_CASE("The footprint stays the same over bursts that several threads free at once") {
    in_thread([] {
        constexpr std::size_t size = 20000;
        std::size_t after_first = 0;
        for (int round = 0; round != 20; ++round) {
            const nodes made = burst(size, 1);
            std::vector<std::thread> threads;
            for (std::size_t t = 0; t != 4; ++t) {
                threads.emplace_back([&made, t] { // each slab is freed by all four of them
                    for (std::size_t i = t; i < size; i += 4) recycler::deallocate(made[i], 1);
                });
            }
            for (std::thread& thread : threads) thread.join();
            if (round == 0) after_first = recycler::footprint();
        }
        CHECK(recycler::footprint() == after_first);
    });
}

TEST_CASE("The footprint stays bounded when a few nodes of each slab stay alive") {
    in_thread([] {
        constexpr std::size_t size = 16000;
        const std::size_t before = recycler::footprint();
        nodes kept;
        for (int round = 0; round != 30; ++round) {
            const nodes made = burst(size);
            nodes still;
            for (std::size_t i = 0; i != size; ++i) {
                if (i % 16 == static_cast<std::size_t>(round) % 16)
                    still.push_back(made[i]);
                else
                    recycler::deallocate(made[i], 0);
            }
            std::swap(kept, still);
            free_all(still);
        }
        free_all(kept);
        CHECK(recycler::footprint() - before <= 2 * size * 64);
    });
}

TEST_CASE("The footprint is at most a little over twice the live nodes when every other node stays") {
    in_thread([] {
        const std::size_t before = recycler::footprint();
        nodes kept;
        for (int round = 0; round != 50; ++round) {
            const nodes made = burst(2000);
            for (std::size_t i = 0; i != made.size(); ++i) {
                if (i % 2 == 0)
                    kept.push_back(made[i]);
                else
                    recycler::deallocate(made[i], 0);
            }
        }
        const std::size_t live = kept.size() * 64;
        CHECK(recycler::footprint() - before <= 2 * live + live / 8 + (std::size_t{2} << 20));
        free_all(kept);
    });
}

TEST_CASE("What a thread freed is there for other threads after its end") {
    in_thread([] { free_all(burst(50000)); });
    const std::size_t before = recycler::footprint();
    in_thread([] { free_all(burst(49000, 0), 0); });
    in_thread([] { free_all(burst(24000, 1), 1); });
    in_thread([] { free_all(burst(11000, 2), 2); });
    CHECK(recycler::footprint() == before);
}

TEST_CASE("Nodes that outlive their thread can be freed and are used again") {
    std::size_t after_first = 0;
    for (int round = 0; round != 20; ++round) {
        nodes made;
        in_thread([&] { made = burst(10000); });
        free_all(made);
        recycler::flush();
        if (round == 1) after_first = recycler::footprint();
    }
    CHECK(recycler::footprint() == after_first);
}

TEST_CASE("A hundred thousand short threads do not grow the footprint") {
    std::size_t after_some = 0;
    nodes left; // by the thread before
    const int threads = ekiden_test::rounds(100'000);
    for (int t = 0; t != threads; ++t) {
        in_thread([&] {
            free_all(left);
            free_all(burst(3, 1), 1);
            left = burst(5);
        });
        if (t == 100) after_some = recycler::footprint();
    }
    free_all(left);
    CHECK(recycler::footprint() == after_some);
}

TEST_CASE("What one thread wrote into a node before it freed it is over when another one gets the node") {
    // ThreadSanitizer watches the plain writes.
    constexpr std::size_t slots = 8;
    const int rounds = ekiden_test::rounds(200'000);
    std::array<std::atomic<long*>, slots> hand{};
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (int t = 0; t != 2; ++t) {
        threads.emplace_back([&] {
            while (!over.load()) {
                for (auto& slot : hand) {
                    if (long* const node = slot.exchange(nullptr)) {
                        *node = -1;
                        recycler::deallocate(node, 0);
                    }
                }
                recycler::flush();
                std::this_thread::yield();
            }
        });
    }
    for (int i = 0; i != rounds; ++i) {
        auto* node = static_cast<long*>(recycler::allocate(0));
        *node = i;
        node = hand[static_cast<std::size_t>(i) % slots].exchange(node);
        if (node != nullptr) {
            if (*node < 0 || *node >= i) FAIL("a node was handed out twice");
            recycler::deallocate(node, 0);
        }
    }
    over.store(true);
    for (std::thread& thread : threads) thread.join();
    for (auto& slot : hand) {
        if (long* const node = slot.load()) recycler::deallocate(node, 0);
    }
}

TEST_CASE("A node that is freed twice ends the process with a message") {
    const auto dies = [](auto body) {
        const auto child = ekiden_test::run_in_child(body);
        CHECK(child.signal == SIGABRT);
        CHECK(child.error_output.find("the memory of a task was freed twice") != std::string::npos);
    };
    dies([] { // of the slab in use
        void* const node = recycler::allocate(0);
        recycler::deallocate(node, 0);
        recycler::deallocate(node, 0);
    });
    dies([] { // of another slab, one after the other
        void* const node = recycler::allocate(0);
        free_all(burst(100));
        const nodes later = burst(100);
        recycler::deallocate(node, 0);
        recycler::deallocate(node, 0);
    });
    dies([] { // of another slab, with the first one visible already
        void* const node = recycler::allocate(2);
        const nodes later = burst(100, 2);
        recycler::deallocate(node, 2);
        recycler::flush();
        recycler::deallocate(node, 2);
        recycler::flush();
    });
    dies([] { // by two threads
        void* const node = recycler::allocate(1);
        const nodes later = burst(100, 1);
        in_thread([&] { recycler::deallocate(node, 1); });
        in_thread([&] { recycler::deallocate(node, 1); });
    });
}
