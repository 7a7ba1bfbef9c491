/// A loop that one thread runs, and Asio's events in it. Included by a source for each of the two Asios,
/// which has said what `net` and `adapted()` are, and EKIDEN_LOOP_HAS_EVENTS if that Asio lets the loop's
/// thread wait. Without that a thread of Asio's does, and the cases are about that meeting.
#pragma once

#include <ekiden/execution/work_guard.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/loop/loop_pool.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using net::ip::tcp;
using namespace std::chrono_literals;

/// Two sockets that are connected with each other.
struct wire {
    explicit wire(const net::any_io_executor& e) : wire(e, e) {}
    wire(const net::any_io_executor& at_near, const net::any_io_executor& at_far)
        : near_end(at_near), far_end(at_far) {
        net::io_context io;
        tcp::acceptor acceptor(io, tcp::endpoint(net::ip::address_v4::loopback(), 0));
        near_end.connect(acceptor.local_endpoint());
        acceptor.accept(far_end);
    }

    /// Calls `f` when the near end has a byte to read, or an error.
    void when_readable(std::function<void()> f) {
        near_end.async_read_some(net::buffer(&byte, 1), [f = std::move(f)](auto, std::size_t) { f(); });
    }
    /// From the far end, which must not be in use; at once.
    void send() { (void)far_end.send(net::buffer("x", 1)); }

    tcp::socket near_end;
    tcp::socket far_end;
    char byte = ' ';
};

struct place {
    ekiden::loop_context loop{1};
    net::any_io_executor e = adapted(loop.get_executor());
};

/// Runs what it is given at once, wherever that is, and lets exceptions through.
struct unguarded {
    explicit unguarded(net::execution_context& c) : context(&c) {}
    [[nodiscard]] net::execution_context& query(net::execution::context_t) const noexcept { return *context; }
    template <class F>
    void execute(F f) const {
        f();
    }
    friend bool operator==(const unguarded&, const unguarded&) = default;
    friend bool operator!=(const unguarded& a, const unguarded& b) noexcept { return !(a == b); }
    net::execution_context* context;
};

} // namespace

TEST_CASE("a poll of a loop runs what has ended in Asio, one at a time if asked to") {
    place p;
    wire one(p.e);
    wire two(p.e);
    int calls = 0;
    one.when_readable([&] { ++calls; });
    two.when_readable([&] { ++calls; });
    CHECK(p.loop.poll() == 0);
    CHECK(!p.loop.is_stopped()); // the reads are work
    one.send();
    two.send();
    while (calls == 0) CHECK(p.loop.poll_one() <= 1);
    CHECK(calls == 1);
    while (calls != 2) CHECK(p.loop.run_one() == 1);
    while (!p.loop.is_stopped()) (void)p.loop.poll(); // a thread of Asio may end its work after the call
}

#ifdef EKIDEN_LOOP_HAS_EVENTS
TEST_CASE("what ends in Asio while nobody runs the loop waits for the next one who does") {
    place p;
    wire one(p.e);
    int calls = 0;
    one.when_readable([&] {
        ++calls;
        one.when_readable([&] { ++calls; });
    });
    one.send();
    one.send();
    CHECK(p.loop.run() >= 2); // each counts as a task does
    CHECK(calls == 2);
}

TEST_CASE("an exception that an operation of Asio's throws leaves the loop, which goes on") {
    place p;
    net::basic_waitable_timer<std::chrono::steady_clock, net::wait_traits<std::chrono::steady_clock>,
                              unguarded>
        timer(unguarded(net::query(p.e, net::execution::context)), 0ms);
    bool has_thrown = false;
    timer.async_wait([&](auto) {
        has_thrown = true;
        throw std::runtime_error("through Asio");
    });
    const auto guard = ekiden::make_work_guard(p.loop.get_executor());
    while (!has_thrown) {
        try {
            (void)p.loop.poll();
            CHECK(!has_thrown);
        } catch (const std::runtime_error& error) {
            CHECK(std::string(error.what()) == "through Asio");
        }
    }
    wire one(p.e);
    bool is_read = false;
    one.when_readable([&] { is_read = true; });
    one.send();
    while (!is_read) (void)p.loop.run_one();
}
#endif

TEST_CASE("a post from another thread reaches a loop that waits for a socket") {
    constexpr int rounds = 200;
    place p;
    wire one(p.e);
    bool is_read = false;
    one.when_readable([&] { is_read = true; });
    std::atomic<int> tasks{0};
    std::thread poster([&] {
        for (int i = 0; i != rounds; ++i) {
            p.loop.get_executor().post([&] { ++tasks; });
            while (tasks == i) std::this_thread::yield(); // so that it falls asleep between two
        }
        one.send();
    });
    p.loop.run();
    poster.join();
    CHECK(tasks == rounds);
    CHECK(is_read);
}

TEST_CASE("a loop that waits for a socket is stopped, and goes on") {
    place p;
    wire one(p.e);
    bool is_read = false;
    one.when_readable([&] { is_read = true; });
    std::thread stopper([&] { p.loop.stop(); });
    p.loop.run();
    stopper.join();
    CHECK(p.loop.is_stopped());
    CHECK(!is_read);
    p.loop.restart();
    one.send();
    p.loop.run();
    CHECK(is_read);
}

TEST_CASE("a loop with a socket that says nothing runs no longer than asked to") {
    place p;
    wire one(p.e);
    bool is_read = false;
    one.when_readable([&] { is_read = true; });
    CHECK(p.loop.run_for(3ms) == 0); // a wait of the reactor's and one of its timer
    CHECK(p.loop.run_for(500us) == 0);
    CHECK(p.loop.run_one_until(std::chrono::system_clock::now() - 1s) == 0);
    CHECK(!p.loop.is_stopped());
    CHECK(!is_read);
    one.near_end.cancel();
    p.loop.run();
    CHECK(is_read);
}

TEST_CASE("our timers ring in a loop that waits for a socket") {
    place p;
    wire one(p.e);
    std::vector<int> order;
    one.when_readable([&] { order.push_back(3); });
    ekiden::steady_timer timer(p.loop, 300us);
    timer.async_wait([&](std::error_code) {
        order.push_back(1);
        timer.expires_after(4ms);
        timer.async_wait([&](std::error_code) {
            order.push_back(2);
            one.send();
        });
    });
    p.loop.run();
    CHECK(order == std::vector<int>{1, 2, 3});
}

TEST_CASE("tasks do not starve what has ended in Asio") {
    place p;
    wire one(p.e);
    bool is_read = false;
    one.when_readable([&] { is_read = true; });
    one.send();
    std::function<void()> again = [&] {
        if (!is_read) p.loop.get_executor().post([&] { again(); });
    };
    again();
    bool by_turns = false; // also of a program that runs one task at a time
    SUBCASE("in one run") {}
    SUBCASE("one by one") { by_turns = true; }
    while (by_turns && !is_read) (void)p.loop.run_one();
    p.loop.run();
    CHECK(is_read);
}

TEST_CASE("what ends in Asio does not starve tasks") {
    place p;
    bool has_run = false;
    std::array<std::optional<net::steady_timer>, 2> timers;
    std::array<std::function<void()>, 2> again; // there is always one that has ended
    for (std::size_t i = 0; i != 2; ++i) {
        timers[i].emplace(p.e, 0ms);
        again[i] = [&, i] {
            timers[i]->expires_after(0ms);
            timers[i]->async_wait([&, i](auto) {
                if (!has_run) again[i]();
            });
        };
        again[i]();
    }
    std::atomic<bool> goes{false};
    std::thread poster([&] {
        while (!goes) std::this_thread::yield();
        p.loop.get_executor().post([&] { has_run = true; });
    });
    net::post(p.e, [&] { goes = true; });
    p.loop.run();
    poster.join();
    CHECK(has_run);
}

TEST_CASE("a handler of Asio's may run the loop, also for what it has left to Asio itself") {
    place p;
    wire one(p.e);
    wire two(p.e);
    two.send(); // so that its read ends at once, in the list that the handler's thread keeps
    bool is_read = false;
    bool has_waited = false;
    bool has_run = false;
    one.when_readable([&] {
        two.when_readable([&] { is_read = true; });
        while (!is_read) (void)p.loop.run_one();
        one.when_readable([&] { has_waited = true; });
        std::thread elsewhere([&] { one.send(); });
        while (!has_waited) (void)p.loop.run_one();
        elsewhere.join();
        p.loop.get_executor().post([&] { has_run = true; });
        while (!has_run) (void)p.loop.poll();
    });
    one.send();
    p.loop.run();
    CHECK(has_run);
}

TEST_CASE("an operation that another thread begins is waited for by a loop that sleeps already") {
    place p;
    auto guard = std::make_optional(ekiden::make_work_guard(p.loop.get_executor()));
    std::optional<wire> one;
    std::atomic<bool> is_read{false};
    std::thread elsewhere([&] {
        one.emplace(p.e); // the first of this context
        one->when_readable([&] {
            is_read = true;
            guard.reset();
        });
        one->send();
    });
    p.loop.run();
    elsewhere.join();
    CHECK(is_read);
}

TEST_CASE("names are resolved for a loop, by a thread of Asio's") {
    place p;
    tcp::resolver resolver(p.e);
    bool has_answer = false;
    resolver.async_resolve("127.0.0.1", "80", [&](auto error, const tcp::resolver::results_type& found) {
        has_answer = !error && !found.empty();
    });
    p.loop.run();
    CHECK(has_answer);
}

TEST_CASE("a loop with Asio's services ends while others have not returned from their calls to it") {
    for (int i = 0; i != 300; ++i) {
        auto p = std::make_unique<place>();
        auto one = std::make_unique<wire>(p->e);
        one->when_readable([] {});
        p->loop.get_executor().on_work_started();
        std::thread caller([i, &loop = p->loop, &one] {
            const auto ends = [&one] { one.reset(); };
            if (i % 3 == 0) {
                loop.get_executor().on_work_finished();
            } else if (i % 3 == 1) {
                loop.get_executor().post([&loop, ends] {
                    ends();
                    loop.get_executor().on_work_finished();
                });
            } else {
                loop.stop();
            }
        });
        if (i % 3 == 0) one->send();
        p->loop.run();
        one.reset();
        p.reset();
        caller.join();
    }
}

TEST_CASE("loops with Asio's sockets talk with each other") {
    constexpr int rounds = 300;
    place here;
    place there;
    wire between(here.e, there.e);
    char other_byte = ' ';
    int left = rounds;
    std::function<void()> ask = [&] {
        net::async_write(between.near_end, net::buffer(&between.byte, 1), [&](auto, std::size_t) {
            between.when_readable([&] {
                if (--left != 0)
                    ask();
                else
                    between.near_end.close();
            });
        });
    };
    std::function<void()> answer = [&] {
        between.far_end.async_read_some(net::buffer(&other_byte, 1), [&](auto error, std::size_t) {
            if (error) return;
            net::async_write(between.far_end, net::buffer(&other_byte, 1),
                             [&](auto, std::size_t) { answer(); });
        });
    };
    answer();
    ask();
    std::thread server([&] { there.loop.run(); });
    here.loop.run();
    server.join();
    CHECK(left == 0);
}

TEST_CASE("a pool of loops waits for what Asio waits for") {
    std::atomic<int> reads{0};
    std::vector<std::unique_ptr<wire>> wires;
    {
        ekiden::loop_pool pool({.threads = 2});
        for (std::size_t i = 0; i != 2; ++i) {
            wires.push_back(std::make_unique<wire>(adapted(pool.get_executor(i))));
            wires.back()->when_readable([&, i] {
                ++reads;
                net::post(adapted(pool.get_executor(1 - i)), [&] { ++reads; });
            });
        }
        std::thread late([&] {
            for (auto& one : wires) one->send();
        });
        pool.join();
        late.join();
        wires.clear();
    }
    CHECK(reads == 4);
}

TEST_CASE("a loop that is destroyed drops what Asio has finished, and what it waits for") {
    const auto calls = std::make_shared<int>(0);
    {
        place p;
        const auto one = std::make_shared<wire>(p.e);
        const auto two = std::make_shared<wire>(p.e);
        one->when_readable([one, calls] { ++*calls; });
        two->when_readable([two, calls] { ++*calls; });
        one->send();
    }
    CHECK(*calls == 0);
    CHECK(calls.use_count() == 1);
}
