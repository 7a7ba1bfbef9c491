/// Our coroutines await operations of Asio's, at home on each of the executors. Included by a source for each
/// of the two Asios, which has said what `net` and `adapted()` are.
#pragma once

#include "../failing_allocations.hpp"
#include "places.hpp"

#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/use_awaitable.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/pool/default_pool.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

namespace {

using namespace ekiden_test;
using namespace std::chrono_literals;
using ekiden::coroutine;
using ekiden::use_awaitable;
using net::ip::tcp;
using question = std::function<bool()>;
using error_code = std::decay_t<decltype(net::error::make_error_code(net::error::eof))>;

/// At home on Asio's own context, with the objects there, too.
struct on_io_context {
    static constexpr bool is_serial = true;
    net::io_context io{1};
    [[nodiscard]] auto executor() { return ekiden::from_asio(io); }
    void finish() { io.run(); }
};

net::any_io_executor for_objects(on_io_context& place) { return place.io.get_executor(); }
template <class Place>
net::any_io_executor for_objects(Place& place) {
    return adapted(place.executor());
}

/// Counts its ends.
struct counts_end {
    explicit counts_end(std::atomic<int>& counter) : ends(&counter) {}
    counts_end(counts_end&& other) noexcept : ends(std::exchange(other.ends, nullptr)) {}
    counts_end& operator=(counts_end&&) = delete;
    ~counts_end() {
        if (ends != nullptr) ++*ends;
    }
    std::atomic<int>* ends;
};

struct note {
    question is_inside;
    std::atomic<int> outside{0};
    void here() {
        if (!is_inside()) ++outside;
    }
};

coroutine<> serve(tcp::acceptor& acceptor, note& home, int rounds) {
    tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
    home.here();
    std::array<char, 64> bytes{};
    for (int i = 0; i != rounds; ++i) {
        const std::size_t n = co_await socket.async_read_some(net::buffer(bytes), use_awaitable);
        home.here();
        const std::size_t m = co_await net::async_write(socket, net::buffer(bytes, n), use_awaitable);
        home.here();
        if (m != n) throw std::runtime_error("short write");
    }
}

coroutine<std::string> ask(net::any_io_executor e, tcp::endpoint where, note& home, int rounds) {
    tcp::socket socket(e);
    co_await socket.async_connect(where, use_awaitable);
    home.here();
    std::string back;
    for (int i = 0; i != rounds; ++i) {
        const std::string sent = std::to_string(i);
        co_await net::async_write(socket, net::buffer(sent), use_awaitable);
        home.here();
        std::string read(sent.size(), ' ');
        co_await net::async_read(socket, net::buffer(read), use_awaitable);
        home.here();
        back += read;
    }
    char more = ' ';
    const auto [error, n] = co_await socket.async_read_some(net::buffer(&more, 1), use_awaitable.as_tuple);
    home.here();
    back += error == net::error::eof && n == 0 ? " eof" : " ?";
    co_return back;
}

[[maybe_unused]] coroutine<int> waits_long(net::any_io_executor e, int& thrown) {
    net::steady_timer timer(e, 1h);
    try {
        co_await timer.async_wait(use_awaitable);
    } catch (const ekiden::operation_canceled&) {
        ++thrown;
    }
    // A level: what begins after the stop ends at once.
    timer.expires_after(1h);
    const std::tuple<error_code> again = co_await timer.async_wait(use_awaitable.as_tuple);
    co_return std::get<0>(again) == net::error::operation_aborted ? 1 : 0;
}

/// A read that needs more than will come.
[[maybe_unused]] coroutine<std::size_t> reads_long(net::any_io_executor e, std::atomic<bool>& has_begun) {
    net::io_context io;
    tcp::acceptor acceptor(io, tcp::endpoint(net::ip::address_v4::loopback(), 0));
    tcp::socket one(e);
    tcp::socket other(e);
    one.connect(acceptor.local_endpoint());
    acceptor.accept(other);
    const std::string sent = "abc";
    co_await net::async_write(other, net::buffer(sent), use_awaitable);
    has_begun = true;
    std::array<char, 8> bytes{};
    const auto [error, n] = co_await net::async_read(one, net::buffer(bytes), use_awaitable.as_tuple);
    co_return error == net::error::operation_aborted ? n : 99;
}

coroutine<> waits_for_ever(net::any_io_executor e, std::atomic<int>& ends, std::atomic<bool>& has_begun) {
    const counts_end local(ends);
    net::steady_timer timer(e, 1h);
    has_begun = true;
    co_await timer.async_wait(use_awaitable);
    ends = 1000;
}

coroutine<> outer(net::any_io_executor e, std::atomic<int>& ends, std::atomic<bool>& has_begun) {
    const counts_end local(ends);
    co_await waits_for_ever(e, ends, has_begun);
    ends = 1000;
}

[[maybe_unused]] coroutine<> waits_short(net::any_io_executor e, std::chrono::microseconds length,
                                         std::atomic<int>& ended) {
    net::steady_timer timer(e, length);
    const std::tuple<error_code> result = co_await timer.async_wait(use_awaitable.as_tuple);
    if (!std::get<0>(result) || std::get<0>(result) == net::error::operation_aborted) ++ended;
}

coroutine<int> refused(net::any_io_executor e) {
    net::io_context io;
    tcp::acceptor acceptor(io, tcp::endpoint(net::ip::address_v4::loopback(), 0));
    const tcp::endpoint nobody = acceptor.local_endpoint();
    acceptor.close();
    tcp::socket socket(e);
    int seen = 0;
    try {
        co_await socket.async_connect(nobody, use_awaitable);
    } catch (const std::system_error& error) {
        if (error.code().value() == net::error::connection_refused) ++seen;
    }
    tcp::socket again(e);
    const auto [code] = co_await again.async_connect(nobody, use_awaitable.as_tuple);
    if (code == net::error::connection_refused) ++seen;
    co_return seen;
}

/// A socket among the results cannot be made of nothing.
coroutine<int> accepts_until_stopped(tcp::acceptor& acceptor, std::stop_source& source) {
    tcp::socket client(acceptor.get_executor());
    client.connect(acceptor.local_endpoint());
    int seen = 0;
    const auto [error, accepted] = co_await acceptor.async_accept(use_awaitable.as_tuple);
    if (!error && accepted.is_open()) ++seen;
    source.request_stop();
    const auto [stopped, none] = co_await acceptor.async_accept(use_awaitable.as_tuple);
    if (stopped == net::error::operation_aborted && !none.is_open()) ++seen;
    co_return seen;
}

} // namespace

#define EKIDEN_ALL_HOMES EKIDEN_ALL_PLACES, on_io_context
TYPE_TO_STRING_AS("io_context", on_io_context);

TEST_CASE_TEMPLATE("a coroutine of ours awaits Asio's sockets, and comes home", Place, EKIDEN_ALL_HOMES) {
    Place place;
    const net::any_io_executor e = for_objects(place);
    tcp::acceptor acceptor(e, tcp::endpoint(net::ip::address_v4::loopback(), 0));
    note home{[x = place.executor()] { return ekiden::running_in_this_thread(x); }};
    constexpr int rounds = 12;
    auto server = ekiden::co_spawn(place.executor(), serve(acceptor, home, rounds), ekiden::use_future);
    auto client = ekiden::co_spawn(place.executor(), ask(e, acceptor.local_endpoint(), home, rounds),
                                   ekiden::use_future);
    place.finish();
    server.get();
    CHECK(client.get() == "01234567891011 eof");
    CHECK(home.outside == 0);
}

TEST_CASE_TEMPLATE("a failed operation of Asio's is thrown, or is in the tuple", Place, EKIDEN_ALL_HOMES) {
    Place place;
    auto result = ekiden::co_spawn(place.executor(), refused(for_objects(place)), ekiden::use_future);
    place.finish();
    CHECK(result.get() == 2);
}

TEST_CASE_TEMPLATE("a coroutine accepts with a tuple, until a stop", Place, EKIDEN_ALL_HOMES) {
    Place place;
    tcp::acceptor acceptor(for_objects(place), tcp::endpoint(net::ip::address_v4::loopback(), 0));
    std::stop_source source;
    auto seen = ekiden::co_spawn(place.executor(), accepts_until_stopped(acceptor, source),
                                 ekiden::use_future, ekiden::spawn_options().stop(source.get_token()));
    place.finish();
    CHECK(seen.get() == 2);
}

#ifdef EKIDEN_ASIO_CANCELS // where Asio can cancel one operation

TEST_CASE_TEMPLATE("a stop cancels what a coroutine awaits of Asio's", Place, EKIDEN_ALL_HOMES) {
    Place place;
    const net::any_io_executor e = for_objects(place);
    std::stop_source source;
    std::atomic<bool> has_begun{false};
    int thrown = 0;
    auto timer = ekiden::co_spawn(place.executor(), waits_long(e, thrown), ekiden::use_future,
                                  ekiden::spawn_options().stop(source.get_token()));
    auto read = ekiden::co_spawn(place.executor(), reads_long(e, has_begun), ekiden::use_future,
                                 ekiden::spawn_options().stop(source.get_token()));
    std::thread stopper([&] {
        while (!has_begun) std::this_thread::yield();
        source.request_stop();
    });
    place.finish();
    stopper.join();
    CHECK(timer.get() == 1);
    CHECK(thrown == 1);
    const std::size_t n = read.get(); // what had been read before the stop is told
    CHECK((n == 0 || n == 3));
}

TEST_CASE_TEMPLATE("an operation of Asio's ends once, whether a stop or its result is first", Place,
                   EKIDEN_ALL_HOMES) {
    for (int i = 0; i != 60; ++i) {
        Place place;
        const net::any_io_executor e = for_objects(place);
        std::stop_source source;
        std::atomic<int> ended{0};
        for (int k = 0; k != 3; ++k) {
            ekiden::co_spawn(place.executor(), waits_short(e, std::chrono::microseconds(100 * k), ended),
                             ekiden::detached, ekiden::spawn_options().stop(source.get_token()));
        }
        std::thread stopper([&] { source.request_stop(); });
        place.finish();
        stopper.join();
        REQUIRE(ended == 3);
    }
}

namespace {

/// An operation of many steps, which come by the handler's executor; its cancellation and its steps must not
/// run at the same time.
template <class Handler>
struct stepping : std::enable_shared_from_this<stepping<Handler>> {
    stepping(Handler h, std::atomic<int>& overlaps) : handler(std::move(h)), bad(overlaps) {}

    void start() {
        const auto slot = net::get_associated_cancellation_slot(handler);
        if (!slot.is_connected()) return step();
        auto own = slot;
        own.assign([weak = this->weak_from_this(), this](net::cancellation_type) {
            const auto held = weak.lock();
            if (!held) return; // it has ended; then this should not be called either
            if (busy.exchange(true)) ++bad;
            is_canceled = true;
            busy = false;
        });
        step();
    }
    void step() {
        net::post(net::get_associated_executor(handler), [self = this->shared_from_this()] {
            if (self->busy.exchange(true)) ++self->bad;
            for (int i = 0; i != 50; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
            self->busy = false;
            if (!self->is_canceled) return self->step();
            self->handler(error_code(net::error::operation_aborted));
        });
    }

    Handler handler;
    std::atomic<int>& bad;
    std::atomic<bool> busy{false};
    bool is_canceled = false;
};

template <class Token>
auto async_stepping(std::atomic<int>& overlaps, Token&& token) {
    return net::async_initiate<Token, void(error_code)>(
        [&overlaps](auto handler) {
            using handler_type = decltype(handler);
            std::make_shared<stepping<handler_type>>(std::move(handler), overlaps)->start();
        },
        token);
}

coroutine<> steps(std::atomic<int>& overlaps, std::atomic<bool>& has_begun) {
    has_begun = true;
    const std::tuple<error_code> result = co_await async_stepping(overlaps, use_awaitable.as_tuple);
    if (std::get<0>(result) != net::error::operation_aborted) ++overlaps;
}

} // namespace

// Asio #1332, #1348: the slot was called beside the operation, in another thread.
TEST_CASE_TEMPLATE("a stop is passed on where the operation's own steps run, never beside them", Place,
                   EKIDEN_ALL_HOMES) {
    for (int i = 0; i != 40; ++i) {
        Place place;
        std::stop_source source;
        std::atomic<int> overlaps{0};
        std::atomic<bool> has_begun{false};
        auto ended = ekiden::co_spawn(place.executor(), steps(overlaps, has_begun), ekiden::use_future,
                                      ekiden::spawn_options().stop(source.get_token()));
        std::thread stopper([&] {
            while (!has_begun) std::this_thread::yield();
            source.request_stop();
        });
        place.finish();
        stopper.join();
        ended.get();
        REQUIRE(overlaps == 0);
    }
}

#endif

TEST_CASE_TEMPLATE("a context that ends destroys coroutines that await Asio, once", Place,
                   EKIDEN_ALL_PLACES) {
    for (const bool can_stop : {false, true}) {
        std::atomic<int> ends{0};
        std::stop_source source;
        {
            Place place;
            std::atomic<bool> has_begun{false};
            ekiden::co_spawn(place.executor(), outer(for_objects(place), ends, has_begun), ekiden::detached,
                             can_stop ? ekiden::spawn_options().stop(source.get_token())
                                      : ekiden::spawn_options());
            place.run_until(has_begun);
            place.end();
            CHECK(ends == 2);
        }
        CHECK(ends == 2);
    }
}

namespace {

struct warm_up {
    std::atomic<int> begun{0};
    std::atomic<int> rounds{0};
    std::atomic<bool> is_over{false};
};

coroutine<> goes_on_for_ever(net::any_io_executor e, std::atomic<int>& ends, warm_up& warm) {
    const counts_end local(ends);
    ++warm.begun;
    net::steady_timer timer(e);
    for (;;) {
        timer.expires_after(20us);
        co_await timer.async_wait(use_awaitable);
        if (++warm.rounds > 40 && warm.begun == 4) warm.is_over = true;
    }
}

} // namespace

TEST_CASE_TEMPLATE("a context may end while Asio completes what coroutines await", Place, EKIDEN_ALL_PLACES) {
    for (int i = 0; i != 10; ++i) {
        std::atomic<int> ends{0};
        warm_up warm;
        std::stop_source source;
        Place place;
        for (int k = 0; k != 4; ++k) {
            ekiden::co_spawn(
                place.executor(), goes_on_for_ever(for_objects(place), ends, warm), ekiden::detached,
                k % 2 == 0 ? ekiden::spawn_options() : ekiden::spawn_options().stop(source.get_token()));
        }
        place.run_until_set(warm.is_over);
        place.end();
        REQUIRE(ends == 4);
    }
}

namespace {

/// A coroutine of another library: it has no environment.
struct foreign {
    struct promise_type {
        static foreign get_return_object() noexcept { return {}; }
        static std::suspend_never initial_suspend() noexcept { return {}; }
        static std::suspend_never final_suspend() noexcept { return {}; }
        static void return_void() noexcept {}
        [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); }
    };
};

foreign awaits_a_timer(net::any_io_executor e, std::atomic<int>& where, ekiden::thread_pool& pool) {
    net::steady_timer timer(e, 1ms);
    co_await timer.async_wait(use_awaitable);
    where = pool.running_in_this_thread() ? 1 : ekiden::default_pool().running_in_this_thread() ? 2 : 3;
    where.notify_one();
}

} // namespace

TEST_CASE("another library's coroutine that awaits with our token goes on in the default pool") {
    ekiden::thread_pool pool(1);
    std::atomic<int> where{0};
    awaits_a_timer(adapted(pool.get_executor()), where, pool);
    where.wait(0);
    ekiden::default_pool().wait_idle(); // the coroutine's timer, which is of `pool`, has gone
    CHECK(where == 2);
}

TEST_CASE("the end of Asio's context destroys coroutines that live on it, or elsewhere") {
    for (const bool is_elsewhere : {false, true}) {
        std::atomic<int> ends{0};
        std::atomic<bool> has_begun{false};
        ekiden::thread_pool pool(1);
        {
            net::io_context io;
            ekiden::any_executor home = pool.get_executor();
            if (!is_elsewhere) home = ekiden::from_asio(io);
            ekiden::co_spawn(home, outer(io.get_executor(), ends, has_begun), ekiden::detached);
            while (!has_begun) {
                if (!is_elsewhere) io.poll();
                std::this_thread::yield();
            }
            pool.wait_idle(); // it waits
        }
        pool.join(); // what was work of the pool has ended: it does not wait for ever
        CHECK(ends == 2);
    }
}

namespace {

/// What an operation does that does not begin as others do.
enum class oddly { calls_at_once, drops, throws, posts };

template <class Token>
auto async_odd(oddly how, net::any_io_executor e, Token&& token) {
    return net::async_initiate<Token, void(error_code, int)>(
        [how, e](auto handler) {
            if (how == oddly::calls_at_once)
                handler(error_code(), 7);
            else if (how == oddly::throws)
                throw std::runtime_error("not begun");
            else if (how == oddly::posts)
                net::post(e, [h = std::move(handler)]() mutable { h(error_code(), 7); });
        },
        token);
}

coroutine<int> does(oddly how, net::any_io_executor e, std::atomic<int>& ends) {
    const counts_end local(ends);
    const int result = co_await async_odd(how, e, use_awaitable);
    co_return result;
}

} // namespace

TEST_CASE_TEMPLATE("an operation may end, throw or be dropped while it begins", Place, EKIDEN_ALL_HOMES) {
    Place place;
    const net::any_io_executor e = for_objects(place);
    std::atomic<int> ends{0};
    const auto begin = [&](oddly how) {
        return ekiden::co_spawn(place.executor(), does(how, e, ends), ekiden::use_future);
    };
    auto at_once = begin(oddly::calls_at_once);
    auto posted = begin(oddly::posts);
    auto thrown = begin(oddly::throws);
    auto dropped = begin(oddly::drops);
    place.finish();
    CHECK(at_once.get() == 7);
    CHECK(posted.get() == 7);
    CHECK_THROWS_AS(thrown.get(), std::runtime_error);
    CHECK_THROWS(dropped.get()); // a broken promise
    CHECK(ends == 4);
}

namespace {

/// A result whose copy throws after the first copy, which is the argument of the handler.
struct copied_once {
    copied_once() = default;
    copied_once(const copied_once& other) : is_copy(true) {
        if (other.is_copy) throw std::runtime_error("no copy");
    }
    bool is_copy = false;
};

template <class Token>
auto async_copied_once(net::any_io_executor e, Token&& token) {
    return net::async_initiate<Token, void(error_code, copied_once)>(
        [e](auto handler) {
            net::post(e, [h = std::move(handler)]() mutable {
                const copied_once result;
                h(error_code(), result);
            });
        },
        token);
}

coroutine<> awaits_copied_once(net::any_io_executor e) {
    static_cast<void>(co_await async_copied_once(e, use_awaitable));
}

} // namespace

TEST_CASE_TEMPLATE("if the copy of a result throws, the await throws this exception", Place,
                   EKIDEN_ALL_HOMES) {
    Place place;
    auto end = ekiden::co_spawn(place.executor(), awaits_copied_once(for_objects(place)), ekiden::use_future);
    place.finish();
    CHECK_THROWS_WITH_AS(end.get(), "no copy", std::runtime_error);
}

#ifndef EKIDEN_TSAN
namespace {

/// The fewest of a hundred awaits. Asio's thread and the coroutine's take turns as they please, so that now
/// and then a node of memory more is on its way between them.
coroutine<long> counts_allocations(net::any_io_executor e) {
    net::steady_timer timer(e);
    const auto begun = std::chrono::steady_clock::now() - 1s;
    long fewest = 100;
    for (int round = 0; round != 10; ++round) {
        const long before = ekiden_test::allocation_count();
        for (int i = 0; i != 100; ++i) {
            timer.expires_at(begun);
            co_await timer.async_wait(use_awaitable);
        }
        fewest = std::min(fewest, ekiden_test::allocation_count() - before);
    }
    co_return fewest;
}

} // namespace

TEST_CASE_TEMPLATE("to await Asio allocates nothing in the long run", Place, ekiden_test::on_pool,
                   ekiden_test::on_loop, on_io_context) {
    Place place;
    auto count =
        ekiden::co_spawn(place.executor(), counts_allocations(for_objects(place)), ekiden::use_future);
    place.finish();
    CHECK(count.get() == 0);
}
#endif
