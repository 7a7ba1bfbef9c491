#include "nearly_wrapped.hpp"

#include <ekiden/queue/chase_lev_deque.hpp>
#include <ekiden/sys/clock.hpp>

#include <tests/unit/effort.hpp>
#include <tests/unit/failing_allocations.hpp>
#if !defined(_WIN32)
#include <tests/unit/fresh_process.hpp>
#endif

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <latch>
#include <limits>
#include <new>
#include <thread>
#include <vector>

using deque = ekiden::chase_lev_deque<int>;

namespace {

/// Numbers 0 to n-1 at fixed addresses, and how often each was taken.
struct elements {
    explicit elements(int n) : numbers(static_cast<std::size_t>(n)), taken(static_cast<std::size_t>(n)) {
        for (int i = 0; i != n; ++i) numbers[static_cast<std::size_t>(i)] = i;
    }
    int* at(int i) { return &numbers[static_cast<std::size_t>(i)]; }
    void take(const int* element) { taken[static_cast<std::size_t>(*element)].fetch_add(1); }
    [[nodiscard]] int taken_wrongly() const {
        int wrong = 0;
        for (const auto& count : taken) wrong += count.load() != 1;
        return wrong;
    }

    std::vector<int> numbers;
    std::vector<std::atomic<int>> taken;
};

/// Threads that steal until `over`.
class thieves {
public:
    thieves(int count, deque& from, elements& all) {
        for (int t = 0; t != count; ++t) {
            threads_.emplace_back([this, &from, &all] {
                int before = -1;
                while (!over_.load()) {
                    if (!from.maybe_filled()) {
                        std::this_thread::yield();
                        continue;
                    }
                    if (const int* const stolen = from.steal()) {
                        all.take(stolen);
                        if (*stolen <= before) disorder_.store(true);
                        before = *stolen;
                        count_.fetch_add(1);
                    }
                }
            });
        }
    }
    void join() {
        over_.store(true);
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
    }
    ~thieves() { join(); }

    [[nodiscard]] bool saw_disorder() const { return disorder_.load(); }
    [[nodiscard]] int count() const { return count_.load(); }

private:
    std::vector<std::thread> threads_;
    std::atomic<bool> over_{false};
    std::atomic<bool> disorder_{false};
    std::atomic<int> count_{0};
};

} // namespace

TEST_CASE("An empty deque gives nothing at either end and keeps working") {
    for (const std::uint64_t first : {std::uint64_t{0}, nearly_wrapped, ~std::uint64_t{0}}) {
        elements all(1);
        deque here(4, first);
        for (int i = 0; i != 10; ++i) {
            CHECK(here.pop() == nullptr);
            CHECK(here.pop_oldest() == nullptr);
            CHECK(here.steal() == nullptr);
            CHECK_FALSE(here.maybe_filled());
            here.push(all.at(0));
            CHECK(here.maybe_filled());
            CHECK((i % 3 == 0 ? here.pop() : i % 3 == 1 ? here.steal() : here.pop_oldest()) == all.at(0));
        }
    }
}

TEST_CASE("The owner pops the newest element and thieves steal the oldest across growth and wrap-around") {
    for (const std::size_t capacity : {1U, 2U, 8U, 256U}) {
        for (const std::uint64_t first : {std::uint64_t{0}, nearly_wrapped, nearly_wrapped - 40}) {
            CAPTURE(capacity);
            elements all(100);
            deque here(capacity, first);
            for (int i = 0; i != 100; ++i) here.push(all.at(i));
            for (int i = 0; i != 30; ++i) {
                REQUIRE(here.steal() == all.at(2 * i));
                REQUIRE(here.pop_oldest() == all.at(2 * i + 1));
                REQUIRE(here.pop() == all.at(99 - i));
            }
            for (int i = 69; i != 59; --i) REQUIRE(here.pop() == all.at(i));
            CHECK(here.pop() == nullptr);
        }
    }
}

TEST_CASE("A deque behaves as a list with two ends in any order of operations") {
    elements all(3000);
    deque here(2, nearly_wrapped - 1000);
    std::deque<int*> model;
    std::uint32_t random = 1;
    int next = 0;
    while (next != 3000) {
        random = random * 1664525 + 1013904223;
        if (random % 16 == 0) here.expect_thieves();
        const auto front = [&]() -> int* {
            if (model.empty()) return nullptr;
            int* const element = model.front();
            model.pop_front();
            return element;
        };
        switch (random >> 29) {
        case 0:
        case 1:
        case 2:
        case 3:
            here.push(all.at(next));
            model.push_back(all.at(next++));
            break;
        case 4:
            REQUIRE(here.steal() == front());
            break;
        case 5:
            REQUIRE(here.pop_oldest() == front());
            break;
        default:
            int* newest = nullptr;
            if (!model.empty()) {
                newest = model.back();
                model.pop_back();
            }
            REQUIRE(here.pop() == newest);
        }
        REQUIRE(here.maybe_filled() == !model.empty());
    }
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("A push that finds no memory to grow changes nothing") {
    for (int n = 0; n != 3; ++n) {
        elements all(20);
        deque here(8, nearly_wrapped);
        for (int i = 0; i != 8; ++i) here.push(all.at(i));
        {
            const ekiden_test::failing_allocation failing(n); // the list of rings, the ring, its slots
            CHECK_THROWS_AS(here.push(all.at(8)), std::bad_alloc);
        }
        for (int i = 8; i != 12; ++i) here.push(all.at(i));
        for (int i = 0; i != 6; ++i) CHECK(here.steal() == all.at(i));
        for (int i = 11; i != 5; --i) CHECK(here.pop() == all.at(i));
        CHECK(here.pop() == nullptr);
    }
}
#endif

TEST_CASE("A deque that has grown frees all its rings") {
    const auto live = ekiden_test::live_allocation_count();
    {
        elements all(1000);
        deque here(1);
        for (int i = 0; i != 1000; ++i) here.push(all.at(i));
    }
    CHECK(ekiden_test::live_allocation_count() == live);
}

TEST_CASE("Each element is taken once while thieves steal and the ring grows and wraps around") {
    const int n = ekiden_test::rounds(2'000'000);
    elements all(n);
    deque here(2, nearly_wrapped - static_cast<std::uint64_t>(n) / 2);
    thieves gang(3, here, all);
    int pushed = 0;
    int burst = 1;
    while (pushed != n) {
        for (int i = 0; i != burst && pushed != n; ++i) here.push(all.at(pushed++));
        if (burst % 8 == 0) here.expect_thieves();
        for (int i = 0; i != burst / 2; ++i) {
            if (const int* const mine = i % 8 == 7 ? here.pop_oldest() : here.pop()) all.take(mine);
        }
        burst = burst % 97 + 1;
    }
    while (const int* const mine = here.pop()) all.take(mine);
    gang.join();
    CHECK(all.taken_wrongly() == 0);
    CHECK_FALSE(gang.saw_disorder()); // pushed in order, so each thief's loot is in order
}

TEST_CASE("The last two elements are taken once when a thief steals both while the owner pops") {
    const int n = ekiden_test::rounds(1'000'000);
    elements all(n);
    deque here(4);
    thieves gang(1, here, all);
    for (int i = 0; i + 2 <= n; i += 2) {
        here.push(all.at(i));
        here.push(all.at(i + 1));
        for (int spin = i / 2 % 8; spin != 0; --spin) ekiden::sys::spin_hint(); // lets the thief begin
        while (const int* const mine = here.pop()) all.take(mine);
    }
    while (here.maybe_filled()) std::this_thread::yield();
    gang.join();
    CHECK(all.taken_wrongly() == 0);
}

TEST_CASE("The last element goes to the owner or to one thief and to nobody else") {
    const int n = ekiden_test::rounds(300'000);
    elements all(n);
    deque here(2, nearly_wrapped - static_cast<std::uint64_t>(n) / 2);
    thieves gang(2, here, all);
    for (int i = 0; i != n; ++i) {
        here.push(all.at(i));
        if (i % 16 == 0) std::this_thread::yield(); // a chance for thieves on a machine with few cores
        if (const int* const mine = i % 4 == 3 ? here.pop_oldest() : here.pop()) all.take(mine);
    }
    while (here.maybe_filled()) std::this_thread::yield();
    gang.join();
    CHECK(all.taken_wrongly() == 0);
}

#if defined(__linux__)
TEST_CASE("The deque works also where the kernel refuses membarrier") {
    const auto child = ekiden_test::run_test_case_in_fresh_process("*taken once w*,*last element*", [] {
        if (!ekiden_test::forbid_system_call(SYS_membarrier, EPERM)) std::_Exit(77);
    });
    CAPTURE(child.error_output);
    if (child.exit_code != 77) CHECK(child.exit_code == 0);
}
#endif

TEST_CASE("Thieves alone empty a deque and see all that the owner wrote") {
    const int n = ekiden_test::rounds(300'000);
    elements all(n);
    deque here(2);
    for (int& number : all.numbers) number = -1;
    thieves gang(3, here, all);
    for (int i = 0; i != n; ++i) {
        *all.at(i) = i; // plain; a thief that did not see it would take element -1
        here.push(all.at(i));
    }
    while (gang.count() != n) std::this_thread::yield();
    gang.join();
    CHECK(all.taken_wrongly() == 0);
}
