// The memory of frames: none is asked for in the long run, and a thread's frames outlive the thread.
#include "../effort.hpp"
#include "../failing_allocations.hpp"
#include "run_coroutine.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/detail/frame.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/bind_allocator.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/mutex.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

using namespace ekiden;
using ekiden_test::allocation_count;
using ekiden_test::live_allocation_count;
using ekiden_test::witness;

namespace {

/// A frame with a local of so many bytes over an await, and a witness.
template <std::size_t Bytes>
coroutine<std::size_t> with_local(event& e, std::atomic<int>& alive) {
    const witness local(alive);
    std::array<unsigned char, Bytes> bytes{};
    bytes[Bytes / 2] = 1;
    co_await async_wait(e);
    co_return static_cast<std::size_t>(bytes[Bytes / 2]);
}

/// Frames of all sizes: from each class of the recycler, and one that is too large for it.
coroutine<std::size_t> of_all_sizes(event& e, std::atomic<int>& alive, int n) {
    std::size_t sum = 0;
    switch (n % 4) {
    case 0:
        sum += co_await with_local<1>(e, alive);
        break;
    case 1:
        sum += co_await with_local<200>(e, alive);
        break;
    case 2:
        sum += co_await with_local<600>(e, alive);
        break;
    default:
        sum += co_await with_local<3000>(e, alive);
        break;
    }
    co_return sum;
}

template <std::size_t Alignment, std::size_t Bytes>
struct alignas(Alignment) aligned_object : pooled_frame {
    std::array<std::byte, Bytes> bytes;
};
template <class T>
bool all_are_aligned() {
    bool are = true;
    std::vector<std::unique_ptr<T>> some;
    for (int i = 0; i != 32; ++i) {
        some.emplace_back(new T);
        are = are && reinterpret_cast<std::uintptr_t>(some.back().get()) % alignof(T) == 0;
    }
    return are;
}

} // namespace

TEST_CASE("Objects in the memory of frames are aligned as they ask for") {
    CHECK(all_are_aligned<aligned_object<16, 16>>());
    CHECK(all_are_aligned<aligned_object<64, 640>>());
    CHECK(all_are_aligned<aligned_object<128, 128>>()); // more than a node is
    CHECK(all_are_aligned<aligned_object<32, 2048>>()); // too large for a node
}

TEST_CASE("rule: in the long run 1e5 live coroutines that suspend and go on allocate nothing") {
    // One worker, which also sets the events: so each round needs as much as the last one, and more threads
    // would only spread it.
    const int n = ekiden_test::rounds(100'000);
    constexpr int warm_rounds = 3;
    constexpr int rounds = 6;
    thread_pool pool(1);
    std::deque<event> begin(rounds);
    mutex m;
    std::atomic<int> living{0};
    int through = 0;
    bool is_exact = true;
    const auto child = [&](int round) -> coroutine<int> {
        co_await async_wait(begin[static_cast<std::size_t>(round)]);
        co_return 1;
    };
    const auto body = [&]() -> coroutine<> {
        const witness local(living);
        for (int round = 0; round != rounds; ++round) {
            const int one = co_await child(round); // suspends in a frame of its own
            co_await yield();
            const auto guard = co_await async_lock(m);
            co_await yield(); // so that the others have to wait for the lock
            through += one;
        }
    };
    const auto driver = [&]() -> coroutine<> {
        while (living != n) co_await yield();
        for (int round = 0; round != rounds; ++round) {
            const long before = allocation_count();
            is_exact = is_exact && living == n;
            begin[static_cast<std::size_t>(round)].set();
            while (through != (round + 1) * n) co_await yield();
            if (round >= warm_rounds) is_exact = is_exact && allocation_count() == before;
        }
    };
    for (int i = 0; i != n; ++i) co_spawn(pool, body);
    sync_wait(pool.get_executor(), driver);
    CHECK(is_exact);
    pool.join();
    CHECK(living == 0);
    CHECK(through == rounds * n);
}

TEST_CASE("rule: frames are freed by another thread after the one that made them has ended, and memory stays "
          "bounded") {
    const int rounds = ekiden_test::rounds(1000);
    constexpr int n = 200;
    std::atomic<int> alive{0};
    std::size_t after_first = 0;
    long live_after_first = 0;
    for (int round = 0; round != rounds; ++round) {
        event never;
        std::vector<coroutine<std::size_t>> unstarted;
        auto loop = std::make_unique<loop_context>();
        std::thread([&] {
            for (int i = 0; i != n; ++i) {
                unstarted.push_back(of_all_sizes(never, alive, i));
                co_spawn(*loop, [&never, &alive, i] { return of_all_sizes(never, alive, i); });
            }
            loop->poll(); // they begin in this thread, and wait
        }).join();
        REQUIRE(alive == n);
        std::thread([&] {
            unstarted.clear();
            loop.reset();
        }).join();
        REQUIRE(alive == 0);
        if (round == rounds / 10) {
            after_first = recycler::footprint();
            live_after_first = live_allocation_count();
        }
    }
    CHECK(recycler::footprint() <= 2 * after_first); // caches differ by some slabs from round to round
    CHECK(live_allocation_count() <= live_after_first);
}

TEST_CASE("rule: frames that one thread makes and another one frees, on and on, keep memory bounded") {
    const int rounds = ekiden_test::rounds(300);
    constexpr int n = 1000;
    std::atomic<int> alive{0};
    std::size_t after_first = 0;
    // The frames wander: begun by this thread, resumed and ended by a worker.
    thread_pool pool(1);
    loop_context loop;
    for (int round = 0; round != rounds; ++round) {
        event go;
        std::atomic<std::size_t> sum{0};
        std::atomic<int> ended{0};
        for (int i = 0; i != n; ++i) {
            co_spawn(loop, [&, i]() -> coroutine<> {
                const std::size_t one = co_await of_all_sizes(go, alive, i);
                sum += one;
                ++ended;
            });
        }
        loop.poll();
        REQUIRE(alive == n);
        pool.post([&] { // the same work, driven by a thread of its own
            go.set();
            while (ended != n) loop.poll();
        });
        pool.wait_idle();
        loop.restart();
        REQUIRE(sum == n);
        REQUIRE(alive == 0);
        if (round == rounds / 10) after_first = recycler::footprint();
    }
    CHECK(recycler::footprint() <= 2 * after_first);
}

namespace {

/// Counts the allocations that are live, and those that were made.
struct frame_counts {
    std::atomic<int> live{0};
    std::atomic<int> made{0};
};
template <class T>
struct frame_allocator {
    using value_type = T;

    explicit frame_allocator(frame_counts& all) : counts(&all) {}
    template <class U>
    frame_allocator(const frame_allocator<U>& other) noexcept : counts(other.counts) {} // NOLINT

    T* allocate(std::size_t n) {
        if (counts->made++ == limit) throw std::bad_alloc();
        ++counts->live;
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* memory, std::size_t n) noexcept {
        --counts->live;
        std::allocator<T>().deallocate(memory, n);
    }
    template <class U>
    friend bool operator==(const frame_allocator& a, const frame_allocator<U>& b) noexcept {
        return a.counts == b.counts;
    }

    static constexpr int limit = 2;
    frame_counts* counts;
};

coroutine<int> seven() { co_return 7; }

} // namespace

TEST_CASE("co_spawn allocates the root by the allocator of the handler, and throws what it throws") {
    frame_counts counts;
    const frame_allocator<std::byte> memory(counts);
    thread_pool pool(1);
    std::atomic<int> result{0};
    const auto set = [&](const std::exception_ptr& error, int value) { result = error ? -1 : value; };
    pool.pause();
    co_spawn(pool.get_executor(), seven(), bind_allocator(memory, set));
    CHECK(counts.live == 1);
    pool.resume();
    pool.wait_idle();
    CHECK(result == 7);
    auto later = co_spawn(pool.get_executor(), &seven, bind_allocator(memory, use_future));
    CHECK(later.get() == 7);
    pool.wait_idle();
    CHECK(counts.live == 0);
    CHECK(counts.made == 2);
    CHECK_THROWS_AS(co_spawn(pool.get_executor(), seven(), bind_allocator(memory, set)), std::bad_alloc);
    CHECK(counts.live == 0);
}
