#include "user_executor.hpp"

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <array>
#include <future>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

static_assert(ekiden::task_executor<ekiden::any_executor>);
static_assert(sizeof(ekiden::any_executor) == 3 * sizeof(void*));

namespace {

// As the executor it is made of, and larger than what any_executor has room for.
struct large_executor : users_context::executor_type {
    using users_context::executor_type::executor_type;
    std::array<int, 16> ballast{};
    friend bool operator==(const large_executor& a, const large_executor& b) {
        return static_cast<const users_context::executor_type&>(a) == b;
    }
};

} // namespace

TEST_CASE("any_executor runs things where the executor in it does") {
    ekiden::thread_pool pool(1);
    const ekiden::any_executor any = pool.get_executor();
    CHECK(&any.context() == &pool);
    CHECK(any.submit([&any] { return any.running_in_this_thread(); }).get());
    CHECK(!any.running_in_this_thread());
    bool was_inline = false;
    ekiden::post(any, [&] {
        bool called = false;
        any.dispatch([&] { called = true; });
        was_inline = called;
    });
    pool.wait_idle();
    CHECK(was_inline);
}

TEST_CASE("any_executor is equal if the executors in it are of one type and equal") {
    ekiden::thread_pool one(1);
    ekiden::thread_pool other(1);
    users_context users;
    const ekiden::any_executor a = one.get_executor();
    CHECK(a == ekiden::any_executor(one.get_executor()));
    CHECK(a != ekiden::any_executor(other.get_executor()));
    CHECK(a != ekiden::any_executor(one.get_executor(ekiden::priority::low)));
    CHECK(a != ekiden::any_executor(users.get_executor()));
    CHECK(ekiden::any_executor() == ekiden::any_executor());
    CHECK(a != ekiden::any_executor());
    CHECK(!ekiden::any_executor());
    REQUIRE(a.target<ekiden::thread_pool::executor_type>() != nullptr);
    CHECK(*a.target<ekiden::thread_pool::executor_type>() == one.get_executor());
    CHECK(a.target<users_context::executor_type>() == nullptr);
}

TEST_CASE("a pointer to lanes over any executor compares with none") {
    const std::unique_ptr<ekiden::lanes<int>> none;
    CHECK(none == nullptr);
    CHECK_FALSE(none != nullptr);
}

TEST_CASE("any_executor holds executors that know no tasks, small or large, and can be copied and moved") {
    users_context home;
    int calls = 0;
    for (ekiden::any_executor any :
         {ekiden::any_executor(home.get_executor()), ekiden::any_executor(large_executor(home))}) {
        ekiden::any_executor copy = any;
        CHECK(copy == any);
        const ekiden::any_executor moved = std::move(copy);
        any = moved;
        any.post([&] { ++calls; });
        any.defer([&] { ++calls; });
        any.dispatch([&] { ++calls; });
        CHECK(home.run() == 3);
        any.on_work_started();
        CHECK(home.work == 1);
        any.on_work_finished();
        CHECK(home.work == 0);
    }
    CHECK(calls == 6);
    CHECK(home.defers == 2);
    const ekiden::any_executor large = large_executor(home);
    CHECK(large.target<large_executor>() != nullptr);
}

TEST_CASE("an exception of a bulk task reaches a context that knows no tasks as one of a function") {
    users_context home;
    const ekiden::any_executor any = home.get_executor();
    any.post_bulk(1, [] { throw std::runtime_error("x"); });
    CHECK_THROWS_AS(home.run(), std::runtime_error);
}

TEST_CASE("what a context that knows no tasks drops is dropped, not run") {
    users_context home;
    const ekiden::any_executor any = home.get_executor();
    auto result = ekiden::post(any, ekiden::use_future([] { return 1; }));
    home.drop_all();
    CHECK_THROWS_AS(result.get(), std::future_error);
    auto submitted = any.submit([] { return 1; });
    home.drop_all();
    CHECK_THROWS_AS(submitted.get(), std::system_error);
}

namespace {

struct without_context : users_context::executor_type {
    using users_context::executor_type::executor_type;
    explicit without_context(users_context& of) : users_context::executor_type(of.get_executor()) {}
    ekiden::execution_context& context() const { throw std::runtime_error("no context"); }
};

} // namespace

TEST_CASE("If context() of the inner executor throws, a post to a strand throws and drops the function") {
    users_context context;
    const auto check = [](const auto& strand) {
        const auto kept = std::make_shared<int>();
        const auto throws = [&](auto call) {
            CHECK_THROWS_WITH_AS(call(), "no context", std::runtime_error);
        };
        throws([&] { (void)strand.post([kept] {}); });
        throws([&] { (void)strand.defer([kept] {}); });
        throws([&] { (void)strand.post_last([kept] {}); });
        throws([&] { (void)strand.submit([kept] {}); });
        throws([&] { (void)strand.post_bulk(3, [kept] {}); });
        throws([&] { strand.dispatch([kept] {}); });
        throws([&] { ekiden::post(strand, [kept] {}); });
        CHECK(kept.use_count() == 1);
    };
    check(ekiden::strand(without_context(context)));
    check(ekiden::strand(ekiden::any_executor(without_context(context))));
    check(ekiden::strand<ekiden::any_executor>(ekiden::strand(without_context(context))));
}

TEST_CASE("An exception of the held executor's context() reaches the caller") {
    users_context context;
    const ekiden::any_executor any = without_context(context);
    CHECK_THROWS_WITH_AS((void)any.context(), "no context", std::runtime_error);
    CHECK_THROWS_WITH_AS((void)ekiden::strand(any).context(), "no context", std::runtime_error);
}
