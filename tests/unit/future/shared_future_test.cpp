#include "code_of.hpp"

#include <ekiden/future/promise.hpp>
#include <ekiden/future/shared_future.hpp>

#include <ekiden/pool/thread_pool.hpp>

#include "../child_process.hpp"
#include <tests/unit/effort.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <future>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using ekiden::future;
using ekiden::promise;
using ekiden::shared_future;
using namespace std::chrono_literals;

TEST_CASE("A shared_future has the properties of std::shared_future") {
    static_assert(std::is_nothrow_default_constructible_v<shared_future<int>>);
    static_assert(std::is_nothrow_copy_constructible_v<shared_future<int>>);
    static_assert(std::is_nothrow_move_constructible_v<shared_future<int>>);
    static_assert(std::is_nothrow_copy_assignable_v<shared_future<int>>);
    static_assert(std::is_nothrow_move_assignable_v<shared_future<int>>);
    static_assert(std::is_nothrow_convertible_v<future<int>, shared_future<int>>);
    static_assert(!std::is_convertible_v<future<int>&, shared_future<int>>);
    static_assert(std::is_same_v<decltype(shared_future<int>().get()), const int&>);
    static_assert(std::is_same_v<decltype(shared_future<const int>().get()), const int&>);
    static_assert(std::is_same_v<decltype(shared_future<int&>().get()), int&>);
    static_assert(std::is_same_v<decltype(shared_future<void>().get()), void>);
    static_assert(sizeof(shared_future<std::string>) == sizeof(void*));
}

TEST_CASE("A shared_future gives the same object to all its copies as often as they ask") {
    promise<std::string> source;
    future<std::string> result = source.get_future();
    const shared_future<std::string> one = result.share();
    CHECK_FALSE(result.valid());
    const shared_future<std::string> two = one;
    CHECK_FALSE(one.is_ready());
    CHECK_FALSE(two.wait_for(0s));
    source.set_value("text");
    CHECK(one.is_ready());
    CHECK(two.wait_until(std::chrono::system_clock::now()));
    CHECK(&one.get() == &two.get());
    CHECK(one.get() == "text");
    CHECK(two.get(ekiden::blocking) == "text");
    CHECK(one.valid());
}

TEST_CASE("A shared_future shows references and nothing as it shows objects") {
    int object = 1;
    promise<int&> source;
    const shared_future<int&> same = source.get_future();
    source.set_value(object);
    CHECK(&same.get() == &object);
    CHECK(&same.get() == &object);
    promise<void> event;
    const shared_future<void> nothing = event.get_future().share();
    event.set_value();
    nothing.get();
    nothing.get();
    promise<std::unique_ptr<int>> owner;
    const shared_future<std::unique_ptr<int>> owned = owner.get_future();
    owner.set_value(std::make_unique<int>(3));
    CHECK(*owned.get() == 3);
}

TEST_CASE("A shared_future throws the same exception as often as it is asked") {
    promise<int> source;
    const auto one = source.get_future().share();
    source.set_exception(std::make_exception_ptr(std::runtime_error("bad")));
    CHECK_THROWS_WITH_AS((void)one.get(), "bad", std::runtime_error);
    CHECK_THROWS_WITH_AS((void)one.get(), "bad", std::runtime_error);
    CHECK(one.valid());
    const auto broken = promise<int>().get_future().share();
    CHECK(code_of([&] { (void)broken.get(); }) == std::future_errc::broken_promise);
    CHECK(code_of([&] { (void)broken.get(); }) == std::future_errc::broken_promise);
}

TEST_CASE("A shared_future without a state says so whatever it is asked") {
    const auto no_state = make_error_code(std::future_errc::no_state);
    const auto check = [&](const shared_future<int>& empty) {
        CHECK_FALSE(empty.valid());
        CHECK(code_of([&] { (void)empty.get(); }) == no_state);
        CHECK(code_of([&] { (void)empty.get(ekiden::blocking); }) == no_state);
        CHECK(code_of([&] { empty.wait(); }) == no_state);
        CHECK(code_of([&] { (void)empty.is_ready(); }) == no_state);
        CHECK(code_of([&] { (void)empty.wait_for(0s); }) == no_state);
    };
    check({});
    check(future<int>().share());
    shared_future<int> used = promise<int>().get_future();
    const shared_future<int> taken = std::move(used);
    check(used);
    CHECK(taken.valid());
}

TEST_CASE("Shared futures are copied, moved, assigned and swapped, and the last one ends the result") {
    const auto witness = std::make_shared<int>(0);
    promise<std::shared_ptr<int>> source;
    shared_future<std::shared_ptr<int>> one = source.get_future();
    source.set_value(witness);
    source = {};
    CHECK(witness.use_count() == 2);
    shared_future<std::shared_ptr<int>> two;
    swap(one, two);
    CHECK_FALSE(one.valid());
    one = two;
    const auto& same = one;
    one = same;
    CHECK(one.get() == witness);
    two = std::move(one);
    CHECK_FALSE(one.valid());
    CHECK(witness.use_count() == 2);
    two = {};
    CHECK(witness.use_count() == 1);
}

TEST_CASE("Threads and workers of a pool wait at once for one shared_future and all see the result") {
    const int rounds = ekiden_test::rounds(300);
    ekiden::thread_pool pool({.threads = 3});
    for (int round = 0; round != rounds; ++round) {
        promise<int> source;
        shared_future<int> result = source.get_future();
        int written = -1;
        std::atomic<int> wrong{0};
        std::atomic<int> waiting{0};
        const auto wait = [&written, &wrong, &waiting, round, result](int way) {
            ++waiting;
            if (way == 1)
                result.wait(ekiden::blocking);
            else if (way == 2)
                (void)result.wait_for(50us);
            if (result.get() != round || written != round) ++wrong;
        };
        std::vector<future<void>> workers;
        for (int i = 0; i != 5; ++i) workers.push_back(pool.submit(wait, i % 3));
        std::thread one(wait, round % 3);
        std::thread two(wait, 0);
        result = {};
        while (waiting.load() < round % 8) std::this_thread::yield(); // some have come, or all
        if (round % 4 == 3) std::this_thread::sleep_for(200us);       // past the spinning
        written = round;
        source.set_value(round);
        for (auto& worker : workers) worker.get();
        one.join();
        two.join();
        REQUIRE(wrong == 0);
    }
}

TEST_CASE("Workers that wait for one shared_future run the task that gives the result") {
    ekiden::thread_pool pool({.threads = 2});
    pool.pause();
    promise<int> source;
    const shared_future<int> result = source.get_future();
    std::vector<future<int>> workers;
    for (int i = 0; i != 6; ++i) workers.push_back(pool.submit([result] { return result.get(); }));
    pool.post([&] { source.set_value(7); });
    pool.resume();
    for (auto& worker : workers) CHECK(worker.get() == 7);
}

TEST_CASE("A blocking wait in a worker runs nothing there and lets another thread of the pool do it") {
    ekiden::thread_pool pool({.threads = 1, .max_threads = 2});
    auto outer = pool.submit([&] {
        auto inner = pool.submit([] { return std::this_thread::get_id(); });
        return inner.get(ekiden::blocking) != std::this_thread::get_id();
    });
    CHECK(outer.get());
    auto shared = pool.submit([&] {
        const auto inner = pool.submit([] { return std::this_thread::get_id(); }).share();
        return inner.get(ekiden::blocking) != std::this_thread::get_id();
    });
    CHECK(shared.get());
}

TEST_CASE("2^27 copies of a shared_future end the program with a message") {
    if (ekiden_test::is_sanitized || ekiden_test::is_emulated) return; // takes too long
    const auto result = ekiden_test::run_in_child([] {
        using copy = ekiden::shared_future<int>;
        ekiden::promise<int> promise;
        const copy first = promise.get_future().share();
        for (int i = 0; i != 1 << 27; ++i) { // the copies are never destroyed, so they all count
            alignas(copy) std::byte place[sizeof(copy)];
            ::new (place) copy(first);
        }
    });
    CHECK(result.signal == SIGABRT);
    CHECK(result.error_output.find("2^27 references to one result") != std::string::npos);
}
