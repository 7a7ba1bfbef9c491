#include "user_executor.hpp"

#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/deferred.hpp>
#include <ekiden/execution/detached.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/use_future.hpp>

#include <tests/unit/failing_allocations.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <future>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace {

// An asynchronous operation: ends on `home` with what it is given.
template <class Signature, class Token, class... Results>
auto async_give(users_context& home, Token&& token, Results... results) {
    return ekiden::async_initiate<Token, Signature>(
        [&home](auto handler, auto... all) {
            ekiden::post(home, [handler = std::move(handler), ... all = std::move(all)]() mutable {
                handler(std::move(all)...);
            });
        },
        std::forward<Token>(token), std::move(results)...);
}

// A token of a program: the operation returns a pointer to where its results will be.
struct into_shared {};

/// Calls its own function without a namespace.
namespace like_asio {
template <class Token, class Signature, class... Args>
bool async_initiate(Args&&...) {
    return true;
}
template <class Token>
auto async_work(Token&& token) {
    return async_initiate<Token, void()>([](auto&&) {}, token);
}
} // namespace like_asio

} // namespace

template <class... Args>
class ekiden::async_result<into_shared, void(Args...)> {
public:
    template <class Initiation, class... InitiationArgs>
    static auto initiate(Initiation&& initiation, into_shared, InitiationArgs&&... args) {
        auto place = std::make_shared<std::tuple<std::decay_t<Args>...>>();
        std::forward<Initiation>(initiation)([place](Args... results) { *place = {std::move(results)...}; },
                                             std::forward<InitiationArgs>(args)...);
        return place;
    }
};

TEST_CASE("use_future: the result is nothing, the one, or a tuple") {
    users_context home;
    auto nothing = async_give<void()>(home, ekiden::use_future);
    auto one = async_give<void(int)>(home, ekiden::use_future, 7);
    auto two = async_give<void(int, std::string)>(home, ekiden::use_future, 7, std::string("x"));
    static_assert(std::is_same_v<decltype(nothing), ekiden::future<void>>);
    static_assert(std::is_same_v<decltype(one), ekiden::future<int>>);
    static_assert(std::is_same_v<decltype(two), ekiden::future<std::tuple<int, std::string>>>);
    CHECK(!one.is_ready());
    home.run();
    nothing.get();
    CHECK(one.get() == 7);
    CHECK(two.get() == std::tuple(7, std::string("x")));
}

TEST_CASE("use_future: an error code or an exception that leads the results is thrown") {
    users_context home;
    auto good = async_give<void(std::error_code)>(home, ekiden::use_future, std::error_code());
    auto bad = async_give<void(std::error_code, int)>(home, ekiden::use_future,
                                                      std::make_error_code(std::errc::timed_out), 0);
    auto fine = async_give<void(std::exception_ptr, int)>(home, ekiden::use_future, std::exception_ptr(), 3);
    auto thrown = async_give<void(std::exception_ptr)>(home, ekiden::use_future,
                                                       std::make_exception_ptr(std::runtime_error("x")));
    static_assert(std::is_same_v<decltype(bad), ekiden::future<int>>);
    home.run();
    good.get();
    CHECK_THROWS_AS(bad.get(), std::system_error);
    CHECK(fine.get() == 3);
    CHECK_THROWS_AS(thrown.get(), std::runtime_error);
}

TEST_CASE(
    "use_future of a function: what it returns or throws, and a handler that is dropped breaks the promise") {
    users_context home;
    auto twice = async_give<void(int)>(home, ekiden::use_future([](int i) { return 2 * i; }), 4);
    auto thrown =
        async_give<void(int)>(home, ekiden::use_future([](int) -> int { throw std::runtime_error("x"); }), 4);
    home.run();
    CHECK(twice.get() == 8);
    CHECK_THROWS_AS(thrown.get(), std::runtime_error);
    auto dropped = async_give<void(int)>(home, ekiden::use_future, 4);
    auto also = async_give<void(int)>(home, ekiden::use_future([](int i) { return i; }), 4);
    home.drop_all();
    CHECK_THROWS_AS(dropped.get(), std::future_error);
    CHECK_THROWS_AS(also.get(), std::future_error);
}

TEST_CASE("deferred: the operation starts when it is called, as often as it is called") {
    users_context home;
    int sum = 0;
    auto later = async_give<void(int)>(home, ekiden::deferred, 5);
    CHECK(home.run() == 0);
    later([&](int i) { sum += i; });
    auto result = later(ekiden::use_future);
    CHECK(home.run() == 2);
    CHECK(sum == 5);
    CHECK(result.get() == 5);
    auto moves_only =
        async_give<void(std::unique_ptr<int>)>(home, ekiden::deferred, std::make_unique<int>(6));
    std::move(moves_only)([&](std::unique_ptr<int> p) { sum += *p; });
    home.run();
    CHECK(sum == 11);
}

TEST_CASE("detached: the operation runs, and its results are dropped") {
    users_context home;
    static_assert(std::is_void_v<decltype(async_give<void(int)>(home, ekiden::detached, 5))>);
    async_give<void(int)>(home, ekiden::detached, 5);
    CHECK(home.run() == 1);
}

TEST_CASE("a token can be bound to an executor: its handler ends there") {
    users_context home;
    users_context elsewhere;
    auto result = ekiden::post(home, ekiden::bind_executor(elsewhere, ekiden::use_future([] { return 5; })));
    CHECK(home.run() == 1);
    CHECK(!result.is_ready());
    CHECK(elsewhere.run() == 1);
    CHECK(result.get() == 5);
    auto token = ekiden::bind_executor(elsewhere, ekiden::use_future);
    auto second = ekiden::post(home, token); // an lvalue is copied
    home.run();
    elsewhere.run();
    second.get();
}

#ifndef EKIDEN_TSAN
TEST_CASE("without memory for the exception of an error code, the future of use_future reports that") {
    users_context home;
    auto result = async_give<void(std::error_code, std::string)>(
        home, ekiden::use_future, std::make_error_code(std::errc::no_buffer_space), std::string());
    {
        const ekiden_test::failing_allocation next(0);
        home.run();
    }
    CHECK_THROWS_AS(result.get(), std::bad_alloc);
}
#endif

TEST_CASE("another library that calls its own async_initiate does not get that of ekiden") {
    CHECK(like_asio::async_work(ekiden::use_future));
}

TEST_CASE("a token of a program plugs in by a specialisation of async_result") {
    users_context home;
    const auto place = async_give<void(int, std::string)>(home, into_shared(), 3, std::string("y"));
    home.run();
    CHECK(*place == std::tuple(3, std::string("y")));
}
