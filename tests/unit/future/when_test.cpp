#include <ekiden/future/promise.hpp>
#include <ekiden/future/when_all.hpp>
#include <ekiden/future/when_any.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <future>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

TEST_CASE("when_all is ready with the last, and each future tells how it has ended") {
    ekiden::promise<int> number;
    ekiden::promise<std::string> text;
    ekiden::promise<void> nothing;
    auto all = ekiden::when_all(number.get_future(), text.get_future(), nothing.get_future());
    text.set_value("x");
    nothing.set_exception(std::make_exception_ptr(std::runtime_error("no")));
    CHECK(!all.is_ready());
    number.set_value(4);
    REQUIRE(all.is_ready());
    auto [n, t, v] = all.get();
    CHECK(n.get() == 4);
    CHECK(t.get() == "x");
    CHECK_THROWS_AS(v.get(), std::runtime_error);
}

TEST_CASE("when_all of none is ready at once") {
    CHECK(ekiden::when_all().is_ready());
    std::vector<ekiden::future<int>> none;
    auto all = ekiden::when_all(none.begin(), none.end());
    REQUIRE(all.is_ready());
    CHECK(all.get().empty());
}

TEST_CASE("when_all of a range keeps its order") {
    std::vector<ekiden::promise<int>> promises(100);
    std::vector<ekiden::future<int>> futures;
    for (auto& p : promises) futures.push_back(p.get_future());
    promises[3].set_value(3); // before
    auto all = ekiden::when_all(futures.begin(), futures.end());
    for (std::size_t i = promises.size(); i-- > 0;) {
        CHECK(!all.is_ready());
        if (i != 3) promises[i].set_value(static_cast<int>(i));
        if (i == 1) {
            promises[0].set_value(0);
            break;
        }
    }
    auto ended = all.get();
    REQUIRE(ended.size() == 100);
    for (std::size_t i = 0; i < ended.size(); ++i) CHECK(ended[i].get() == static_cast<int>(i));
}

TEST_CASE("when_any is ready with the first, says which, and gives the others back") {
    ekiden::promise<int> one;
    ekiden::promise<std::string> other;
    auto any = ekiden::when_any(one.get_future(), other.get_future());
    CHECK(!any.is_ready());
    other.set_value("x");
    auto result = any.get();
    CHECK(result.index == 1);
    CHECK(std::get<1>(result.futures).get() == "x");
    CHECK(!std::get<0>(result.futures).is_ready());
    one.set_value(5);
    CHECK(std::get<0>(result.futures).get() == 5);
}

TEST_CASE("when_any: one that has ended before, a failure, and losers that are dropped") {
    ekiden::promise<int> slow;
    {
        ekiden::promise<int> broken;
        std::vector<ekiden::future<int>> futures;
        futures.push_back(slow.get_future());
        futures.push_back(broken.get_future());
        broken.set_exception(std::make_exception_ptr(std::runtime_error("no")));
        auto any = ekiden::when_any(futures.begin(), futures.end());
        REQUIRE(any.is_ready());
        auto result = any.get();
        CHECK(result.index == 1);
        CHECK_THROWS_AS(result.futures[1].get(), std::runtime_error);
    }
    slow.set_value(1); // nobody listens
}

TEST_CASE("when_any of an empty range, and futures without a state, are refused before any is taken") {
    std::vector<ekiden::future<int>> none;
    CHECK_THROWS_AS((void)ekiden::when_any(none.begin(), none.end()), std::invalid_argument);
    CHECK_THROWS_AS((void)ekiden::when_any(ekiden::future<int>()), std::future_error);
    CHECK_THROWS_AS((void)ekiden::when_all(ekiden::future<int>()), std::future_error);
}

TEST_CASE("when_all and when_any while all of their futures end at once") {
    for (int round = 0; round < 1'000; ++round) {
        std::array<ekiden::promise<int>, 4> promises;
        auto all = ekiden::when_all(promises[0].get_future(), promises[1].get_future());
        std::thread producer([&] {
            promises[0].set_value(0);
            promises[2].set_value(2);
        });
        auto any = ekiden::when_any(promises[2].get_future(), promises[3].get_future());
        promises[3].set_value(3);
        promises[1].set_value(1);
        auto first = any.get();
        CHECK((first.index == 0 ? std::get<0>(first.futures) : std::get<1>(first.futures)).is_ready());
        auto [a, b] = all.get();
        CHECK(a.get() + b.get() == 1);
        producer.join();
        CHECK(std::get<0>(first.futures).get() + std::get<1>(first.futures).get() == 5);
    }
}
