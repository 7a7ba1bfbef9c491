/// Everything of Asio's on every executor of the library. Included by a source for each of the two Asios,
/// which has said what `net`, `flavour` and `adapted()` are.
#pragma once

#include "counting_allocator.hpp"
#include "places.hpp"

#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/work_guard.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden_test;
using net::ip::tcp;
using namespace std::chrono_literals;

/// A pair of sockets that are connected with each other.
template <class Socket>
struct connected_pair {
    template <class E>
    explicit connected_pair(const E& e) : one(e), other(e) {
        net::io_context io;
        tcp::acceptor acceptor(io, tcp::endpoint(net::ip::address_v4::loopback(), 0));
        one.connect(acceptor.local_endpoint());
        acceptor.accept(other);
    }
    Socket one;
    Socket other;
};

/// Sends back what it reads, so many times, then closes its end.
template <class Socket>
struct echo : std::enable_shared_from_this<echo<Socket>> {
    echo(Socket& s, int rounds) : socket(s), left(rounds) {}

    void read() {
        socket.async_read_some(net::buffer(bytes),
                               [self = this->shared_from_this()](auto error, std::size_t n) {
                                   if (!error) self->write(n);
                               });
    }
    void write(std::size_t n) {
        net::async_write(socket, net::buffer(bytes, n),
                         [self = this->shared_from_this()](auto error, std::size_t) {
                             if (!error && --self->left != 0) self->read();
                         });
    }

    Socket& socket;
    int left;
    std::array<char, 64> bytes{};
};

// The parts of cases that cost much to compile know the executor as an any_io_executor: they are compiled
// once. `is_inside` is asked by them where they should be inside of the executor.
using question = std::function<bool()>;

struct timed {
    timed(const net::any_io_executor& e, question is_inside)
        : soon(e, 1ms), late(e, 1h), is_inside_(std::move(is_inside)) {
        late.async_wait([this](auto error) { // first, for the other one may complete at once
            if (error == net::error::operation_aborted) ++aborted;
            if (is_inside_()) ++inside;
        });
        soon.async_wait([this](auto error) {
            if (!error) ++expired;
            if (is_inside_()) ++inside;
            late.cancel();
        });
    }
    net::steady_timer soon;
    net::steady_timer late;
    std::atomic<int> expired{0};
    std::atomic<int> aborted{0};
    std::atomic<int> inside{0};

private:
    question is_inside_;
};

struct echoing {
    static constexpr int rounds = 20;
    explicit echoing(const net::any_io_executor& e)
        : pair(e), server(std::make_shared<echo<tcp::socket>>(pair.other, rounds)),
          client(std::make_shared<echo<tcp::socket>>(pair.one, rounds)) {
        server->read();
        net::post(e, [this] { client->write(client->bytes.size()); });
    }
    connected_pair<tcp::socket> pair;
    std::shared_ptr<echo<tcp::socket>> server;
    std::shared_ptr<echo<tcp::socket>> client;
};

struct accepting {
    explicit accepting(const net::any_io_executor& e)
        : acceptor(e, tcp::endpoint(net::ip::address_v4::loopback(), 0)), client(e) {
        acceptor.async_accept([this](auto error, tcp::socket accepted) {
            if (!error && accepted.is_open()) ++done;
        });
        client.async_connect(acceptor.local_endpoint(), [this](auto error) {
            if (!error) ++done;
        });
    }
    tcp::acceptor acceptor;
    tcp::socket client;
    std::atomic<int> done{0};
};

#ifdef EKIDEN_ASIO_COROUTINES // which Asio has with this compiler
struct coroutines {
    coroutines(const net::any_io_executor& e, question is_inside)
        : pair(e), is_inside_(std::move(is_inside)) {
        net::co_spawn(e, [this] { return serve(); }, net::detached);
        answer = net::co_spawn(e, [this] { return ask(); }, net::use_future);
    }
    net::awaitable<void> serve() {
        std::array<char, 4> bytes{};
        note();
        co_await net::async_read(pair.other, net::buffer(bytes), net::use_awaitable);
        note();
        co_await net::async_write(pair.other, net::buffer(bytes), net::use_awaitable);
        note();
    }
    net::awaitable<std::string> ask() {
        net::steady_timer timer(co_await net::this_coro::executor, 1ms);
        co_await timer.async_wait(net::use_awaitable);
        const std::string sent = "ping";
        co_await net::async_write(pair.one, net::buffer(sent), net::use_awaitable);
        std::string back(4, ' ');
        co_await net::async_read(pair.one, net::buffer(back), net::use_awaitable);
        note();
        co_return back;
    }
    void note() {
        if (!is_inside_()) stayed_inside = false;
    }

    connected_pair<tcp::socket> pair;
    std::future<std::string> answer;
    std::atomic<bool> stayed_inside{true};

private:
    question is_inside_;
};
#endif

struct throwing {
    template <class Error>
    void operator()(const Error&) const {
        throw std::runtime_error("by a timer");
    }
};

// The objects lie in their own handlers.
void leave_waiting(const net::any_io_executor& e, const std::shared_ptr<std::atomic<int>>& calls) {
    const auto timer = std::make_shared<net::steady_timer>(e, 1h);
    timer->async_wait([calls, timer](auto) { ++*calls; });
    const auto pair = std::make_shared<connected_pair<tcp::socket>>(e);
    const auto byte = std::make_shared<char>();
    pair->one.async_read_some(net::buffer(byte.get(), 1),
                              [calls, pair, byte](auto, std::size_t) { ++*calls; });
}

} // namespace

TEST_CASE_TEMPLATE("Asio posts, dispatches and defers to an executor of ours", Place, EKIDEN_ALL_PLACES) {
    Place place;
    const auto e = adapted(place.executor());
    std::atomic<int> outside{0};
    std::string order; // by one function, and what comes after it
    std::atomic<bool> was_inside{false};
    std::atomic<int> later{0};
    net::post(e, [&] {
        was_inside = e.running_in_this_thread();
        std::atomic<int> at_once{0};
        net::dispatch(e, [&] { ++at_once; });
        order += at_once == 1 ? "dispatched" : "";
        net::post(e, [&] { ++later; });
        net::defer(e, [&] { ++later; });
    });
    net::dispatch(e, [&] { ++outside; });
    net::defer(e, [&] { ++outside; });
    place.finish();
    CHECK(was_inside);
    CHECK(outside == 2);
    CHECK(order == "dispatched");
    CHECK(later == 2);
    CHECK(!e.running_in_this_thread());
}

TEST_CASE_TEMPLATE("Asio asks our executor for its properties and gets them", Place, EKIDEN_ALL_PLACES) {
    namespace execution = net::execution;
    Place place;
    const auto e = adapted(place.executor());
    static_assert(execution::is_executor<std::decay_t<decltype(e)>>::value);
    static_assert(std::is_nothrow_copy_constructible_v<std::decay_t<decltype(e)>>);
    CHECK(net::query(e, execution::blocking) == execution::blocking.possibly);
    CHECK(net::query(e, execution::relationship) == execution::relationship.fork);
    CHECK(net::query(e, execution::outstanding_work) == execution::outstanding_work.untracked);
    CHECK(net::query(e, execution::mapping) == execution::mapping.thread);
    const auto changed = net::require(e, execution::blocking.never, execution::relationship.continuation,
                                      execution::outstanding_work.tracked);
    CHECK(net::query(changed, execution::blocking) == execution::blocking.never);
    CHECK(net::query(changed, execution::relationship) == execution::relationship.continuation);
    CHECK(net::query(changed, execution::outstanding_work) == execution::outstanding_work.tracked);
    CHECK(changed != e);
    CHECK(net::require(changed, execution::blocking.possibly, execution::relationship.fork,
                       execution::outstanding_work.untracked)
          == e);
    // One of Asio's contexts for each of ours.
    CHECK(&net::query(changed, execution::context) == &net::query(e, execution::context));
    Place other;
    CHECK(&net::query(adapted(other.executor()), execution::context) != &net::query(e, execution::context));
    // With an allocator it is another type, and comes back from it.
    allocations counts;
    const auto allocating = net::require(e, execution::allocator(counting_allocator<void>(counts)));
    CHECK(net::query(allocating, execution::allocator).counts == &counts);
    CHECK(net::require(allocating, execution::allocator) == e);
}

TEST_CASE_TEMPLATE("a tracked executor keeps its context from ending", Place, EKIDEN_ALL_PLACES) {
    Place place;
    std::atomic<bool> has_run{false};
    std::promise<void> go;
    std::thread elsewhere(
        [&, tracked = net::require(adapted(place.executor()), net::execution::outstanding_work.tracked),
         released = go.get_future()]() mutable {
            auto copy = tracked;
            auto moved = std::move(tracked);
            copy = std::move(moved);
            released.wait();
            net::post(copy, [&] { has_run = true; });
        });
    net::post(adapted(place.executor()), [&] { go.set_value(); });
    place.finish();
    CHECK(has_run);
    elsewhere.join();
}

TEST_CASE_TEMPLATE("Asio's strand on our executor keeps its order", Place, EKIDEN_ALL_PLACES) {
    Place place;
    const auto serial = net::make_strand(adapted(place.executor()));
    constexpr int count = 500;
    std::vector<int> seen; // by the strand only
    std::vector<std::thread> posters;
    auto guard = ekiden::make_work_guard(place.executor());
    std::atomic<int> left{2};
    for (int poster = 0; poster != 2; ++poster) {
        posters.emplace_back([&, poster] {
            for (int i = 0; i != count; ++i)
                net::post(serial, [&, i, poster] { seen.push_back(2 * i + poster); });
            if (--left == 0) guard.reset();
        });
    }
    place.finish();
    for (std::thread& t : posters) t.join();
    REQUIRE(seen.size() == 2 * count);
    std::array<int, 2> last{-1, -1};
    bool is_ordered = true;
    for (const int i : seen) {
        int& before = last[static_cast<std::size_t>(i % 2)];
        is_ordered = is_ordered && i / 2 == before + 1;
        before = i / 2;
    }
    CHECK(is_ordered);
}

TEST_CASE_TEMPLATE("any_io_executor holds an executor of ours", Place, EKIDEN_ALL_PLACES) {
    Place place;
    const auto e = adapted(place.executor());
    net::any_io_executor any = e;
    CHECK(any == net::any_io_executor(e));
    std::atomic<int> calls{0};
    net::post(any, [&] { ++calls; });
    net::dispatch(any, [&] { ++calls; });
    net::defer(any, [&] { ++calls; });
    net::post(net::strand<net::any_io_executor>(any), [&] { ++calls; });
    {
        const auto tracked = net::prefer(any, net::execution::outstanding_work.tracked);
        net::post(net::prefer(tracked, net::execution::relationship.continuation), [&] { ++calls; });
    }
    place.finish();
    CHECK(calls == 5);
}

TEST_CASE_TEMPLATE("the memory of an operation is that of its handler's allocator", Place,
                   EKIDEN_ALL_PLACES) {
    Place place;
    const auto e = adapted(place.executor());
    allocations counts;
    std::atomic<int> calls{0};
    std::atomic<int> out_during_call{0};
    net::post(e, with_allocator{[&] {
                                    ++calls;
                                    out_during_call = counts.out.load();
                                },
                                &counts});
    place.finish();
    CHECK(calls == 1);
    CHECK(counts.taken == 1);
    CHECK(out_during_call == 0); // given back before
    CHECK(counts.out == 0);
}

TEST_CASE_TEMPLATE("what a handler throws goes where exceptions of our tasks go", Place, EKIDEN_ALL_PLACES) {
    Place place;
    const auto e = adapted(place.executor());
    std::atomic<bool> goes_on{false};
    net::post(e, [] { throw std::runtime_error("posted"); });
    net::post(e, [&] {
        net::dispatch(e, [] { throw std::runtime_error("in place"); });
        goes_on = true;
    });
    net::steady_timer timer(e, 1ms);
    timer.async_wait(throwing());
    place.finish();
    CHECK(goes_on);
    std::vector<std::string> thrown = place.thrown.all();
    std::sort(thrown.begin(), thrown.end());
    CHECK(thrown == std::vector<std::string>{"by a timer", "in place", "posted"});
}

TEST_CASE_TEMPLATE("an executor of ours that is bound to a handler needs no adapter", Place,
                   EKIDEN_ALL_PLACES) {
    Place place;
    net::io_context io;
    net::basic_waitable_timer<std::chrono::steady_clock, net::wait_traits<std::chrono::steady_clock>,
                              net::io_context::executor_type>
        timer(io, 1ms);
    std::atomic<bool> was_inside{false};
    const auto e = place.executor();
    timer.async_wait(
        ekiden::bind_executor(e, [&, e](auto) { was_inside = ekiden::running_in_this_thread(e); }));
    std::thread runs([&] { io.run(); });
    place.finish(); // the wait is work of the bound executor, too
    runs.join();
    CHECK(was_inside);
}

TEST_CASE_TEMPLATE("Asio's timer expires, and is canceled, on our executor", Place, EKIDEN_ALL_PLACES) {
    Place place;
    const auto e = adapted(place.executor());
    timed timers(e, [&e] { return e.running_in_this_thread(); });
    place.finish();
    CHECK(timers.expired == 1);
    CHECK(timers.aborted == 1);
    CHECK(timers.inside == 2);
}

TEST_CASE_TEMPLATE("Asio's sockets work on our executor", Place, EKIDEN_ALL_PLACES) {
    Place place;
    echoing both(adapted(place.executor()));
    place.finish(); // when both have ended: their operations are work
    CHECK(both.server->left == 0);
    CHECK(both.client->left == 0);
}

TEST_CASE_TEMPLATE("Asio's acceptor and connect work on our executor", Place, EKIDEN_ALL_PLACES) {
    Place place;
    accepting both(adapted(place.executor()));
    place.finish();
    CHECK(both.done == 2);
}

#ifdef EKIDEN_ASIO_COROUTINES
TEST_CASE_TEMPLATE("Asio's coroutines run on our executor", Place, EKIDEN_ALL_PLACES) {
    Place place;
    const auto e = adapted(place.executor());
    coroutines both(e, [&e] { return e.running_in_this_thread(); });
    place.finish();
    CHECK(both.answer.get() == "ping");
    CHECK(both.stayed_inside);
}
#endif

TEST_CASE_TEMPLATE("Asio's use_future gets what ran on our executor", Place, EKIDEN_ALL_PLACES) {
    Place place;
    const net::any_io_executor e = adapted(place.executor());
    std::future<int> result = net::post(e, net::use_future([] { return 42; }));
    std::future<int> broken = net::post(e, net::use_future([]() -> int { throw std::runtime_error("no"); }));
    place.finish();
    CHECK(result.get() == 42);
    CHECK_THROWS_AS((void)broken.get(), std::runtime_error);
    CHECK(place.thrown.all().empty());
}

TEST_CASE_TEMPLATE("a context that ends drops what waits in Asio", Place, EKIDEN_ALL_PLACES) {
    Place place;
    const auto calls = std::make_shared<std::atomic<int>>(0);
    leave_waiting(adapted(place.executor()), calls);
    CHECK(calls.use_count() == 3);
    place.end();
    CHECK(calls.use_count() == 1);
    CHECK(*calls == 0);
}

// Without any_io_executor between.
TEST_CASE("Asio's objects of the adapted executor's own type work, with the handler's allocator") {
    on_strand place;
    const auto e = adapted(place.executor());
    using own = std::decay_t<decltype(e)>;
    connected_pair<net::basic_stream_socket<tcp, own>> pair(e);
    net::basic_waitable_timer<std::chrono::steady_clock, net::wait_traits<std::chrono::steady_clock>, own>
        timer(e, 1ms);
    allocations counts;
    std::atomic<int> calls{0};
    timer.async_wait(with_allocator{[&](auto) {
                                        ++calls;
                                        const std::string sent = "x";
                                        pair.one.write_some(net::buffer(sent));
                                    },
                                    &counts});
    char read = ' ';
    pair.other.async_read_some(net::buffer(&read, 1),
                               with_allocator{[&](auto error, std::size_t n) {
                                                  if (!error && n == 1 && e.running_in_this_thread()) ++calls;
                                              },
                                              &counts});
    place.finish();
    CHECK(calls == 2);
    CHECK(read == 'x');
    CHECK(counts.taken == 4); // for each Asio's operation, and the hop to the executor
    CHECK(counts.out == 0);
}
