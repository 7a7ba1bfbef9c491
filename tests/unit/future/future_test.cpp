#include "code_of.hpp"

#include <ekiden/future/promise.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

using ekiden::future;
using ekiden::promise;
using namespace std::chrono_literals;

namespace {

template <class R, class... Args>
future<R> ready(Args&&... args) {
    promise<R> source;
    source.set_value(std::forward<Args>(args)...);
    return source.get_future();
}

} // namespace

TEST_CASE("A future has the properties of std::future") {
    static_assert(!std::is_copy_constructible_v<future<int>>);
    static_assert(!std::is_copy_assignable_v<future<int>>);
    static_assert(std::is_nothrow_move_constructible_v<future<int>>);
    static_assert(std::is_nothrow_move_assignable_v<future<int>>);
    static_assert(std::is_nothrow_default_constructible_v<future<int>>);
    static_assert(sizeof(future<std::string>) == sizeof(void*));
}

TEST_CASE("A future gives the value that the promise was given and then has no state") {
    promise<int> source;
    future<int> result = source.get_future();
    CHECK(result.valid());
    CHECK_FALSE(result.is_ready());
    source.set_value(42);
    CHECK(result.is_ready());
    CHECK(result.is_ready());
    CHECK(result.get() == 42);
    CHECK_FALSE(result.valid());
}

TEST_CASE("A future without a state says so whatever it is asked") {
    const auto no_state = make_error_code(std::future_errc::no_state);
    future<int> empty;
    CHECK_FALSE(empty.valid());
    CHECK(code_of([&] { empty.get(); }) == no_state);
    CHECK(code_of([&] { empty.wait(); }) == no_state);
    CHECK(code_of([&] { (void)empty.is_ready(); }) == no_state);
    CHECK(code_of([&] { (void)empty.wait_for(0s); }) == no_state);
    CHECK(code_of([&] { (void)empty.wait_until(std::chrono::system_clock::now()); }) == no_state);
    CHECK(code_of([&] { (void)empty.cancel(); }) == no_state);

    future<int> used = ready<int>(1);
    used.get();
    CHECK(code_of([&] { used.get(); }) == no_state);

    future<int> source = ready<int>(2);
    future<int> target = std::move(source);
    CHECK(code_of([&] { source.get(); }) == no_state);
    CHECK(target.get() == 2);
}

TEST_CASE("A future that throws has no state afterwards either") {
    promise<int> source;
    future<int> result = source.get_future();
    source.set_exception(std::make_exception_ptr(std::runtime_error("bad")));
    CHECK_THROWS_WITH_AS(result.get(), "bad", std::runtime_error);
    CHECK_FALSE(result.valid());
}

TEST_CASE("Futures are moved and assigned and swapped") {
    future<int> one = ready<int>(1);
    future<int> two = ready<int>(2);
    swap(one, two);
    CHECK(one.get() == 2);
    one = std::move(two);
    CHECK_FALSE(two.valid());
    future<int>& same = one;
    one = std::move(same);
    REQUIRE(one.valid());
    CHECK(one.get() == 1);
    one = ready<int>(3);
    one = ready<int>(4); // drops the one before
    CHECK(one.get() == 4);
}

TEST_CASE("Results that can only be moved arrive") {
    auto result = ready<std::unique_ptr<int>>(std::make_unique<int>(5));
    CHECK(*result.get() == 5);
}

TEST_CASE("A reference arrives as the same object") {
    int object = 1;
    future<int&> result = ready<int&>(object);
    int& same = result.get();
    CHECK(&same == &object);
    const std::string text = "constant";
    CHECK(&ready<const std::string&>(text).get() == &text);
}

TEST_CASE("A future of nothing tells that the time has come") {
    promise<void> source;
    future<void> result = source.get_future();
    CHECK_FALSE(result.wait_for(0s));
    source.set_value();
    CHECK(result.wait_for(0s));
    result.get();
    CHECK_FALSE(result.valid());
}

TEST_CASE("Results of any size and alignment arrive where they may lie") {
    struct alignas(256) strict {
        int value;
    };
    promise<strict> source;
    auto result = source.get_future();
    source.set_value(strict{7});
    CHECK(result.get().value == 7);
    std::array<int, 5000> many{};
    many.back() = 9;
    CHECK(ready<std::array<int, 5000>>(many).get().back() == 9);
    struct alignas(128) small {
        char value;
    };
    CHECK(ready<small>(small{'x'}).get().value == 'x');
}

TEST_CASE("A result may have an address operator of its own") {
    struct hidden {
        int value = 0;
        void operator&() const {} // NOLINT: that is the point
    };
    CHECK(ready<hidden>(hidden{3}).get().value == 3);
    hidden object{4};
    CHECK(ready<hidden&>(object).get().value == 4);
}

TEST_CASE("A result is destroyed once whether it is fetched or not") {
    const auto witness = std::make_shared<int>(0);
    {
        auto fetched = ready<std::shared_ptr<int>>(witness);
        CHECK(witness.use_count() == 2);
        CHECK(fetched.get() == witness);
        CHECK(witness.use_count() == 1);
        auto dropped = ready<std::shared_ptr<int>>(witness);
        CHECK(witness.use_count() == 2);
    }
    CHECK(witness.use_count() == 1);
}

TEST_CASE("An exception is destroyed with the last who has it") {
    const auto witness = std::make_shared<int>(0);
    struct carries {
        std::shared_ptr<int> witness;
    };
    {
        promise<int> source;
        auto dropped = source.get_future();
        source.set_exception(std::make_exception_ptr(carries{witness}));
        CHECK(witness.use_count() == 2);
    }
    CHECK(witness.use_count() == 1);
    {
        promise<int> source;
        auto fetched = source.get_future();
        source.set_exception(std::make_exception_ptr(carries{witness}));
        CHECK_THROWS_AS(fetched.get(), carries);
        CHECK(witness.use_count() == 1);
    }
}

TEST_CASE("A result whose move throws passes that exception to get and is gone") {
    struct stubborn {
        explicit stubborn(int* left) : moves_left(left) {}
        stubborn(stubborn&& other) : moves_left(other.moves_left) {
            if ((*moves_left)-- == 0) throw std::logic_error("stays");
        }
        int* moves_left;
    };
    int moves_left = 1; // into the state, but not out of it
    promise<stubborn> source;
    auto result = source.get_future();
    source.set_value(stubborn(&moves_left));
    CHECK_THROWS_WITH_AS(result.get(), "stays", std::logic_error);
    CHECK_FALSE(result.valid());
}

TEST_CASE("The future of a promise cannot be canceled") {
    promise<int> source;
    auto result = source.get_future();
    CHECK_FALSE(result.cancel());
    source.set_value(1);
    CHECK_FALSE(result.cancel());
    CHECK(result.get() == 1);
}

TEST_CASE("A wait ends when the result is there and sees what the producer did before") {
    for (int round = 0; round != 200; ++round) {
        promise<void> source;
        auto result = source.get_future();
        int written = -1;
        std::thread producer([&] {
            if (round % 2 == 0) std::this_thread::sleep_for(100us); // past the spinning
            written = round;
            source.set_value();
        });
        result.wait();
        CHECK(written == round);
        CHECK(result.is_ready());
        producer.join();
    }
}
