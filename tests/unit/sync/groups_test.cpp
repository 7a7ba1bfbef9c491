// Groups of threads that are released together. Under ThreadSanitizer, and on machines with at least 8
// processors, woken threads wake other threads of the group.
#include "../effort.hpp"
#include "stress.hpp"

#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/detail/group_word.hpp>
#include <ekiden/sync/detail/lock_access.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/latch.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

template <class Lock>
const void* word_of(const Lock& lock) {
    return &ekiden::group_word(&ekiden::detail::lock_access::core(lock));
}

/// `wait` runs in several threads. The last thread whose wait has returned destroys the lock.
template <class Lock, class Wait, class Open>
void destroy_at_once(std::ptrdiff_t count, Wait wait, Open open) {
    constexpr int threads = 8;
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        auto lock = std::make_unique<Lock>(count);
        Lock& shared = *lock;
        std::atomic<int> left{threads};
        std::vector<std::thread> waiting;
        for (int i = 0; i != threads; ++i) {
            waiting.emplace_back([&] {
                wait(shared);
                if (left.fetch_sub(1) == 1) lock.reset();
            });
        }
        if (round % 2 == 1) std::this_thread::sleep_for(100us); // most threads sleep then
        open(shared);
        for (auto& each : waiting) each.join();
        CHECK(lock == nullptr);
    }
}

} // namespace

TEST_CASE("The last thread of a group destroys the lock, while other threads still wake the group") {
    using ekiden::latch;
    destroy_at_once<latch>(1, [](latch& l) { l.wait(); }, [](latch& l) { l.count_down(); });
    destroy_at_once<latch>(8, [](latch& l) { l.arrive_and_wait(); }, [](latch&) {});
    using barrier = ekiden::barrier<>;
    destroy_at_once<barrier>(8, [](barrier& b) { b.arrive_and_wait(); }, [](barrier&) {});
}

TEST_CASE("Groups of several locks whose threads sleep on the same word") {
    constexpr int threads = 4;
    const int rounds = ekiden_test::rounds(2'000);
    ekiden::barrier first(threads);
    // A lock whose address has the same hash. The locks before it are kept, so that their addresses are not
    // used again.
    const auto beside = [&first](auto& made, auto... arguments) -> auto& {
        using pointer = typename std::remove_reference_t<decltype(made)>::value_type;
        do {
            made.push_back(std::make_unique<typename pointer::element_type>(arguments...));
        } while (word_of(*made.back()) != word_of(first));
        return *made.back();
    };
    std::vector<std::unique_ptr<ekiden::barrier<>>> barriers;
    std::vector<std::unique_ptr<ekiden::event>> events;
    ekiden::barrier<>& second = beside(barriers, threads);
    ekiden::event& end = beside(events);
    std::atomic<bool> is_over{false};
    std::atomic<bool> is_wrong{false};
    std::vector<std::thread> sleepers;
    for (int i = 0; i != 20; ++i) {
        sleepers.emplace_back([&] {
            end.wait();
            if (!is_over) is_wrong = true;
        });
    }
    std::atomic<int> arrived[2] = {0, 0};
    stress::together(2 * threads, [&](int i, stress::noise&) {
        ekiden::barrier<>& mine = i % 2 == 0 ? first : second;
        std::atomic<int>& count = arrived[i % 2];
        for (int round = 1; round <= rounds; ++round) {
            count.fetch_add(1);
            mine.arrive_and_wait();
            const int now = count;
            if (now < round * threads || now >= (round + 1) * threads) is_wrong = true;
        }
    });
    is_over = true;
    end.set();
    for (auto& each : sleepers) each.join();
    CHECK_FALSE(is_wrong);
}
