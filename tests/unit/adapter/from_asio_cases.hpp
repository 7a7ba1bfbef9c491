/// Everything of the library's on every executor of Asio's. Included by a source for each of the two Asios,
/// which has said what `net` is.
#pragma once

#include "counting_allocator.hpp"

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/defer.hpp>
#include <ekiden/execution/dispatch.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/execution/work_guard.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden_test;
using namespace std::chrono_literals;

struct on_io {
    net::io_context io{1};
    std::vector<std::string> thrown;

    [[nodiscard]] auto executor() { return io.get_executor(); }
    /// Returns when all work is done.
    void finish() {
        for (bool ends = false; !ends;) {
            try {
                io.run();
                ends = true;
            } catch (const std::exception& e) {
                thrown.emplace_back(e.what());
            }
        }
    }
};
struct on_io_strand : on_io {
    net::strand<net::io_context::executor_type> serial{io.get_executor()};
    [[nodiscard]] auto executor() { return serial; }
};
struct on_any_io : on_io {
    [[nodiscard]] auto executor() { return net::any_io_executor(io.get_executor()); }
};
struct on_any_strand : on_io {
    net::strand<net::any_io_executor> serial{net::any_io_executor(io.get_executor())};
    [[nodiscard]] auto executor() { return serial; }
};
struct on_asio_pool {
    net::thread_pool pool{2};
    [[nodiscard]] auto executor() { return pool.get_executor(); }
    void finish() { pool.join(); }
};

} // namespace

#define EKIDEN_ALL_IO on_io, on_io_strand, on_any_io, on_any_strand
#define EKIDEN_ALL_ASIO EKIDEN_ALL_IO, on_asio_pool

TYPE_TO_STRING_AS("io_context", on_io);
TYPE_TO_STRING_AS("its strand", on_io_strand);
TYPE_TO_STRING_AS("any_io_executor", on_any_io);
TYPE_TO_STRING_AS("strand of any", on_any_strand);
TYPE_TO_STRING_AS("Asio's pool", on_asio_pool);

TEST_CASE_TEMPLATE("an executor of Asio's is one of ours", Place, EKIDEN_ALL_ASIO) {
    Place place;
    const auto e = ekiden::from_asio(place.executor());
    static_assert(ekiden::task_executor<std::decay_t<decltype(e)>>);
    CHECK(e == ekiden::from_asio(place.executor()));
    CHECK(&e.context() == &ekiden::from_asio(place.executor()).context());
    std::atomic<int> calls{0};
    std::atomic<int> at_once{0};
    ekiden::post(e, [&] {
        ++calls;
        ekiden::dispatch(e, [&] { ++at_once; });
        if (at_once == 1) ++calls;
        ekiden::post(e, [&] { ++calls; });
        ekiden::defer(e, [&] { ++calls; });
    });
    ekiden::dispatch(e, [&] { ++calls; });
    ekiden::future<int> result = e.submit([] { return 42; });
    ekiden::future<int> other = ekiden::post(e, ekiden::use_future([] { return 43; }));
    e.post_bulk(10, [&] { ++calls; });
    place.finish();
    CHECK(calls == 15);
    CHECK(result.get() == 42);
    CHECK(other.get() == 43);
    CHECK(!e.running_in_this_thread());
}

TEST_CASE_TEMPLATE("our strand and lanes keep their order on Asio's executor", Place, EKIDEN_ALL_ASIO) {
    Place place;
    const ekiden::strand serial(ekiden::from_asio(place.executor()));
    const ekiden::lanes<int> all(ekiden::from_asio(place.executor()));
    const ekiden::strand on_a_strand(serial);
    std::vector<int> seen;
    std::vector<int> of_lane[2];
    std::vector<int> nested;
    std::vector<int> expected;
    for (int i = 0; i != 300; ++i) {
        ekiden::post(serial, [&, i] { seen.push_back(i); });
        (void)all.post(i % 2, [&, i] { of_lane[i % 2].push_back(i / 2); });
        ekiden::post(on_a_strand, [&, i] { nested.push_back(i); });
        expected.push_back(i);
    }
    place.finish();
    CHECK(seen == expected);
    CHECK(nested == expected);
    expected.resize(150);
    CHECK(of_lane[0] == expected);
    CHECK(of_lane[1] == expected);
}

TEST_CASE_TEMPLATE("any_executor holds Asio's executor", Place, EKIDEN_ALL_ASIO) {
    Place place;
    const ekiden::any_executor any = ekiden::from_asio(place.executor());
    const ekiden::any_executor same = ekiden::from_asio(place.executor());
    CHECK(any == same);
    std::atomic<int> calls{0};
    any.post([&] { ++calls; });
    ekiden::strand<ekiden::any_executor> serial(any);
    serial.post([&] { ++calls; });
    serial.dispatch([&] { ++calls; });
    place.finish();
    CHECK(calls == 3);
}

TEST_CASE_TEMPLATE("our timers expire and are canceled on Asio's executor", Place, EKIDEN_ALL_ASIO) {
    Place place;
    const auto e = ekiden::from_asio(place.executor());
    ekiden::steady_timer soon(e, 1ms);
    ekiden::steady_timer late(e, 1h);
    std::atomic<int> expired{0};
    std::atomic<int> canceled{0};
    late.async_wait([&](std::error_code error) { // first, for the other one may complete at once
        if (error == std::errc::operation_canceled) ++canceled;
    });
    soon.async_wait([&](std::error_code error) {
        if (!error) ++expired;
        late.cancel();
    });
    place.finish(); // a wait is work of Asio's context
    CHECK(expired == 1);
    CHECK(canceled == 1);
}

TEST_CASE_TEMPLATE("a timer of ours completes on Asio's executor", Place, EKIDEN_ALL_ASIO) {
    Place place;
    ekiden::thread_pool pool(
        1); // ends first: a thread of its that posts must be out of Asio's context by then
    const auto e = ekiden::from_asio(place.executor());
    ekiden::steady_timer timer(pool.get_executor(), 1ms);
    std::atomic<bool> was_elsewhere{false};
    timer.async_wait(ekiden::bind_executor(
        e, [&](std::error_code error) { was_elsewhere = !error && !pool.running_in_this_thread(); }));
    place.finish();
    CHECK(was_elsewhere);
}

TEST_CASE_TEMPLATE("a guard of ours keeps Asio's context from ending", Place, EKIDEN_ALL_ASIO) {
    Place place;
    const auto e = ekiden::from_asio(place.executor());
    auto guard = ekiden::make_work_guard(e);
    auto second = guard;
    std::atomic<bool> has_run{false};
    std::atomic<bool> begun{false};
    std::thread elsewhere([&, held = std::move(guard), more = std::move(second)]() mutable {
        more.reset();
        begun.wait(false);
        ekiden::post(held.get_executor(), [&] { has_run = true; });
        held.reset();
    });
    ekiden::post(e, [&] {
        begun = true;
        begun.notify_one();
    });
    place.finish();
    CHECK(has_run);
    elsewhere.join();
}

TEST_CASE_TEMPLATE("a task's exception leaves run()", Place, EKIDEN_ALL_IO) {
    Place place;
    const auto e = ekiden::from_asio(place.executor());
    const ekiden::strand serial(e);
    std::atomic<int> calls{0};
    e.post([] { throw std::runtime_error("posted"); });
    serial.post([] { throw std::runtime_error("in a strand"); });
    serial.post([&] { ++calls; });
    e.post_bulk(2, [] { throw std::runtime_error("in bulk"); });
    place.finish();
    CHECK(calls == 1);
    CHECK(place.thrown.size() == 4);
}

TEST_CASE_TEMPLATE("what Asio's context drops at its end is abandoned", Place, EKIDEN_ALL_IO) {
    ekiden::future<int> task;
    ekiden::future<int> in_strand;
    const auto kept = std::make_shared<int>();
    {
        Place place;
        const auto e = ekiden::from_asio(place.executor());
        const ekiden::strand serial(e);
        task = e.submit([kept] { return 1; });
        in_strand = serial.submit([kept] { return 1; });
        const auto timer = std::make_shared<ekiden::steady_timer>(e, 1h);
        timer->async_wait([kept, timer](std::error_code) {});
        CHECK(kept.use_count() == 4);
    }
    CHECK(kept.use_count() == 1);
    CHECK_THROWS_AS(task.get(), std::system_error);
    CHECK_THROWS_AS(in_strand.get(), std::system_error);
}

TEST_CASE("a callable's own allocator is used on Asio's executor") {
    on_io place;
    allocations counts;
    int calls = 0;
    ekiden::post(ekiden::from_asio(place.executor()), with_allocator{[&] { ++calls; }, &counts});
    CHECK(counts.out == 1);
    place.finish();
    CHECK(calls == 1);
    CHECK(counts.taken == 1);
    CHECK(counts.out == 0);
}
