// The memory of a channel: it goes back, is reused, and may be missing.
#include <ekiden/sync/channel.hpp>

#include <tests/unit/failing_allocations.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <new>

#if !defined(EKIDEN_TSAN)
using ekiden::channel;
using ekiden::queue_status;

TEST_CASE("an unbounded channel frees its memory when its items have been popped") {
    channel<int> ch;
    const long empty = ekiden_test::live_allocation_count();
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 100'000; ++i) (void)ch.push(i);
        CHECK(ekiden_test::live_allocation_count() > empty + 100);
        for (int i = 0; i < 100'000; ++i) REQUIRE(ch.try_pop() == i);
        REQUIRE_FALSE(ch.try_pop());
        CHECK(ekiden_test::live_allocation_count() <= empty + 5); // the unused segments
    }
}

TEST_CASE("an unbounded channel whose size varies little does not allocate") {
    channel<int> ch;
    const auto pass = [&ch] {
        for (int i = 0; i < 100; ++i) (void)ch.push(i);
        for (int i = 0; i < 100; ++i) REQUIRE(ch.try_pop() == i);
    };
    for (int i = 0; i < 100; ++i) pass();
    const long before = ekiden_test::allocation_count();
    for (int i = 0; i < 1000; ++i) pass();
    CHECK(ekiden_test::allocation_count() == before);
}

TEST_CASE("if memory is missing, a push throws and has no effect") {
    channel<std::unique_ptr<int>> ch;
    int failures = 0;
    for (int i = 0; i < 1000; ++i) {
        auto item = std::make_unique<int>(i);
        try {
            const ekiden_test::failing_allocation fails(0);
            (void)ch.push(std::move(item));
        } catch (const std::bad_alloc&) {
            ++failures;
            REQUIRE(item != nullptr);
            REQUIRE(*item == i);
            REQUIRE(ch.push(std::move(item)) == queue_status::done);
        }
    }
    CHECK(failures > 0);
    for (int i = 0; i < 1000; ++i) REQUIRE(**ch.try_pop() == i);
    CHECK(ch.size() == 0);
}
#endif
