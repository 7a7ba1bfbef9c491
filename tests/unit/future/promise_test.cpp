#include "code_of.hpp"

#include <ekiden/future/promise.hpp>

#include <tests/unit/effort.hpp>
#include <tests/unit/failing_allocations.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using ekiden::future;
using ekiden::promise;

namespace {

template <class T, class V>
concept accepts = requires(promise<T> p, V&& v) { p.set_value(std::forward<V>(v)); };

} // namespace

TEST_CASE("A promise takes what converts to its result and nothing that needs an explicit conversion") {
    static_assert(accepts<std::string, const char*>);
    static_assert(accepts<long, int>);
    static_assert(accepts<const int&, int&>);
    static_assert(!accepts<std::vector<int>, int>);
    static_assert(!accepts<std::unique_ptr<int>, int*>);
    static_assert(!accepts<int&, const int&>);
    static_assert(!accepts<int&, int>);
    static_assert(!std::is_copy_constructible_v<promise<int>>);
    static_assert(std::is_nothrow_move_constructible_v<promise<int>>);
}

TEST_CASE("A promise gives out its future once") {
    promise<int> source;
    const auto result = source.get_future();
    CHECK(code_of([&] { (void)source.get_future(); }) == std::future_errc::future_already_retrieved);
    promise<int> moved = std::move(source);
    CHECK(code_of([&] { (void)moved.get_future(); }) == std::future_errc::future_already_retrieved);
}

TEST_CASE("A promise is satisfied once in whatever way") {
    const auto error = std::make_exception_ptr(std::runtime_error("late"));
    const auto again = [&](promise<int>& source) {
        CHECK(code_of([&] { source.set_value(2); }) == std::future_errc::promise_already_satisfied);
        CHECK(code_of([&] { source.set_exception(error); }) == std::future_errc::promise_already_satisfied);
    };
    promise<int> with_value;
    auto value = with_value.get_future();
    with_value.set_value(1);
    again(with_value);
    CHECK(value.get() == 1);
    again(with_value);
    promise<int> with_error;
    auto failed = with_error.get_future();
    with_error.set_exception(error);
    again(with_error);
    CHECK_THROWS_WITH_AS(failed.get(), "late", std::runtime_error);
}

TEST_CASE("A promise without a state says so") {
    promise<void> source;
    promise<void> target = std::move(source);
    CHECK(code_of([&] { source.set_value(); }) == std::future_errc::no_state);
    CHECK(code_of([&] { (void)source.get_future(); }) == std::future_errc::no_state);
    CHECK(code_of([&] { source.set_exception(std::make_exception_ptr(1)); }) == std::future_errc::no_state);
    auto result = target.get_future();
    target.set_value();
    result.get();
}

TEST_CASE("A promise refuses the exception that is none and can be satisfied afterwards") {
    promise<int> source;
    auto result = source.get_future();
    CHECK_THROWS_WITH_AS(source.set_exception(nullptr),
                         "ekiden: set_exception: error is null; allowed is an exception",
                         std::invalid_argument);
    source.set_value(1);
    CHECK(result.get() == 1);
}

TEST_CASE("A promise that ends without a result breaks") {
    future<int> result;
    {
        promise<int> source;
        result = source.get_future();
    }
    CHECK(result.is_ready());
    CHECK(code_of([&] { result.get(); }) == std::future_errc::broken_promise);
    promise<int> source;
    result = source.get_future();
    source = promise<int>(); // the assignment ends the first one
    CHECK(code_of([&] { result.get(); }) == std::future_errc::broken_promise);
}

TEST_CASE("Promises are moved and swapped with what they owe") {
    promise<int> one;
    promise<int> two;
    auto first = one.get_future();
    swap(one, two);
    two.set_value(1);
    CHECK(first.get() == 1);
    auto second = one.get_future();
    promise<int>& same = one;
    one = std::move(same);
    one.set_value(2);
    CHECK(second.get() == 2);
}

namespace {

/// Throws when it is copied or moved as often as `left` says.
struct stubborn {
    explicit stubborn(std::atomic<int>& moves_left) : left(&moves_left) {}
    stubborn(const stubborn& other) : left(other.left) {
        if ((*left)-- == 0) throw std::logic_error("stays");
    }
    std::atomic<int>* left;
};

} // namespace

TEST_CASE("A value whose copy throws leaves the promise as it was") {
    std::atomic<int> left = 0;
    promise<stubborn> source;
    auto result = source.get_future();
    const stubborn value(left);
    CHECK_THROWS_WITH_AS(source.set_value(value), "stays", std::logic_error);
    CHECK_FALSE(result.is_ready());
    left = 0;
    CHECK_THROWS_WITH_AS(source.set_value(stubborn(left)), "stays", std::logic_error);
    CHECK_FALSE(result.is_ready());
    source.set_value(value);
    CHECK(result.is_ready());
    CHECK(result.get().left == &left);
    CHECK(code_of([&] { source.set_value(value); }) == std::future_errc::promise_already_satisfied);
}

TEST_CASE("A promise whose value could not be copied takes an exception or breaks") {
    std::atomic<int> left = 0;
    promise<stubborn> source;
    auto result = source.get_future();
    try {
        source.set_value(stubborn(left));
    } catch (...) {
        source.set_exception(std::current_exception());
    }
    CHECK_THROWS_WITH_AS((void)result.get(), "stays", std::logic_error);

    future<stubborn> broken;
    {
        promise<stubborn> other;
        broken = other.get_future();
        left = 0;
        CHECK_THROWS_AS(other.set_value(stubborn(left)), std::logic_error);
    }
    CHECK(code_of([&] { (void)broken.get(); }) == std::future_errc::broken_promise);
}

TEST_CASE("A setter that fails makes way for another one that came meanwhile") {
    const int rounds = ekiden_test::rounds(1000);
    for (int round = 0; round != rounds; ++round) {
        std::atomic<int> left = 0; // the first copy fails, whosever it is
        promise<stubborn> source;
        auto result = source.get_future();
        const stubborn value(left);
        std::atomic<int> failed{0};
        std::atomic<int> late{0};
        std::latch start(2);
        const auto set = [&] {
            start.arrive_and_wait();
            try {
                source.set_value(value);
            } catch (const std::logic_error& error) {
                if (std::string_view(error.what()) == "stays")
                    ++failed;
                else
                    ++late;
            }
        };
        std::thread other(set);
        set();
        other.join();
        REQUIRE(failed == 1);
        REQUIRE(late == 0);
        REQUIRE(result.is_ready());
    }
}

TEST_CASE("A promise of a constant takes its value") {
    promise<const std::string> source;
    auto result = source.get_future();
    source.set_value("constant");
    static_assert(std::is_same_v<decltype(result), future<const std::string>>);
    CHECK(result.get() == "constant");
}

TEST_CASE("One of many threads that set the result wins and the others are told") {
    const int rounds = ekiden_test::rounds(2000);
    constexpr int threads = 3;
    for (int round = 0; round != rounds; ++round) {
        promise<int> source;
        auto result = source.get_future();
        std::atomic<int> winner{-1};
        std::atomic<int> losers{0};
        std::latch start(threads);
        std::vector<std::thread> setters;
        for (int t = 0; t != threads; ++t) {
            setters.emplace_back([&, t] {
                start.arrive_and_wait();
                try {
                    if (t == 0)
                        source.set_exception(std::make_exception_ptr(t));
                    else
                        source.set_value(t);
                    winner.store(t);
                } catch (const std::future_error&) {
                    ++losers;
                }
            });
        }
        int got = -1;
        try {
            got = result.get();
        } catch (const int thrown) {
            got = thrown;
        }
        for (std::thread& thread : setters) thread.join();
        REQUIRE(got == winner.load());
        REQUIRE(losers.load() == threads - 1);
    }
}

TEST_CASE("Promise and future end in any order and in different threads") {
    const int rounds = ekiden_test::rounds(3000);
    const auto witness = std::make_shared<int>(0);
    for (int round = 0; round != rounds; ++round) {
        std::optional<promise<std::shared_ptr<int>>> source(std::in_place);
        auto result = source->get_future();
        if (round % 2 == 0) source->set_value(witness);
        std::atomic<int> together{0};
        const auto meet = [&] {
            ++together;
            while (together.load() != 2) std::this_thread::yield();
        };
        std::thread other([&] {
            meet();
            source.reset();
        });
        meet();
        if (round % 3 == 0) {
            result = {};
        } else if (round % 2 == 0) {
            if (result.get() != witness) FAIL("another result");
        } else {
            result.wait();
        }
        other.join();
    }
    CHECK(witness.use_count() == 1);
}

TEST_CASE("Promises need no allocation once memory has been recycled") {
    const auto work = [] {
        for (int i = 0; i != 200; ++i) {
            promise<int> source;
            auto result = source.get_future();
            source.set_value(i);
            if (result.get() != i) FAIL("another result");
        }
    };
    work();
    const long allocations = ekiden_test::allocation_count();
    work();
    CHECK(ekiden_test::allocation_count() == allocations);
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("A promise is one allocation when its result is too large for a recycled node") {
    struct large {
        char bytes[1000];
    };
    const long allocations = ekiden_test::allocation_count();
    {
        promise<large> source;
        auto result = source.get_future();
        CHECK(ekiden_test::allocation_count() == allocations + 1);
        source.set_value(large{});
        CHECK(result.is_ready());
        CHECK(ekiden_test::allocation_count() == allocations + 1);
    }
    const ekiden_test::failing_allocation failing(0);
    CHECK_THROWS_AS(promise<large>(), std::bad_alloc);
}
#endif
