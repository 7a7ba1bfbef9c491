// Several exceptions: the first one is thrown, suppressed_exceptions() has the others.
#include "run_coroutine.hpp"

#include <ekiden/async/async_scope.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/when_any.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace ekiden;
using namespace ekiden_test;

namespace {

/// Throws when the gate is opened, or else when it is stopped: `text` either way.
coroutine<> fails_behind(gate& g, const char* text) {
    try {
        co_await g.wait();
    } catch (const operation_canceled&) {
    }
    throw std::runtime_error(text);
}

/// Only says that it was stopped.
coroutine<> is_stopped_behind(gate& g) { co_await g.wait(); }

std::string text_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    }
}

std::vector<std::string> suppressed() {
    std::vector<std::string> all;
    for (const auto& each : suppressed_exceptions()) all.push_back(text_of(each));
    return all;
}

/// Awaits what `make()` gives. Returns the text of what was thrown, and leaves the list as it is.
template <class Make>
coroutine<std::string> thrown_by(Make make) {
    try {
        static_cast<void>(co_await make());
    } catch (const std::exception& error) {
        co_return error.what();
    }
    co_return "";
}

using texts = std::vector<std::string>;

} // namespace

TEST_CASE("when_all throws the first exception, and the list has the others, but not those of the stop") {
    thread_pool pool(1);
    gate never;
    run_on(pool.get_executor(), [&]() -> coroutine<> {
        const auto at_once = []() -> coroutine<> {
            throw std::runtime_error("first");
            co_return;
        };
        const auto first = [&] {
            return when_all(fails_behind(never, "second"), is_stopped_behind(never),
                            fails_behind(never, "third"), at_once);
        };
        CHECK(co_await thrown_by(first) == "first");
        texts others = suppressed(); // in the order in which they came
        std::ranges::sort(others);
        CHECK(others == texts{"second", "third"});
        // The next call replaces the list, also if it throws nothing.
        CHECK(co_await thrown_by([] { return when_all(number(1), number(2)); }) == "");
        CHECK(suppressed().empty());
    });
}

TEST_CASE("when_all of a range does the same") {
    thread_pool pool(1);
    gate never;
    gate go;
    auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
        std::vector<coroutine<>> all;
        all.push_back(fails_behind(never, "second"));
        all.push_back(fails_behind(go, "first"));
        CHECK(co_await thrown_by([&] { return when_all(std::move(all)); }) == "first");
        CHECK(suppressed() == texts{"second"});
    });
    until([&] { return never.waiting() == 1 && go.waiting() == 1; });
    go.open();
    running.get();
}

TEST_CASE("when_any keeps the exceptions of those that it stops, whether the first one throws or not") {
    thread_pool pool(1);
    gate never;
    gate go;
    auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
        const auto won = [&] { return when_any(fails_behind(never, "loser"), number_behind(go, 1)); };
        CHECK(co_await thrown_by(won) == "");
        CHECK(suppressed() == texts{"loser"});
        const auto lost = [&] { return when_any(fails_behind(never, "loser"), fails_behind(go, "winner")); };
        CHECK(co_await thrown_by(lost) == "winner"); // go is open: one of the two orders of their beginnings
        CHECK(suppressed().size() <= 1);
    });
    until([&] { return never.waiting() == 1 && go.waiting() == 1; });
    go.open();
    running.get();
}

TEST_CASE("wait() of a scope, and with_scope, throw the first exception, and the list has the others") {
    thread_pool pool(1);
    gate never;
    gate go;
    auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
        async_scope scope(pool.get_executor());
        CHECK(scope.spawn([&] { return fails_behind(never, "second"); }));
        CHECK(scope.spawn([&] { return is_stopped_behind(never); }));
        CHECK(scope.spawn([&] { return fails_behind(go, "first"); }));
        CHECK(co_await thrown_by([&] { return scope.wait(); }) == "first");
        CHECK(suppressed() == texts{"second"});
        CHECK(co_await thrown_by([&] { return scope.wait(); }) == "");
        CHECK(suppressed().empty());
        const auto body = [&](async_scope& s) -> coroutine<> {
            CHECK(s.spawn([&] { return fails_behind(never, "child"); }));
            co_await yield();
            throw std::runtime_error("body");
        };
        CHECK(co_await thrown_by([&] { return with_scope(body); }) == "body");
        CHECK(suppressed() == texts{"child"});
    });
    until([&] { return never.waiting() == 2 && go.waiting() == 1; });
    go.open();
    running.get();
}
