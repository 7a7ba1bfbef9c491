#include "senders.hpp"

#include "../places.hpp"

#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

using namespace ekiden_test;

TEST_CASE_TEMPLATE("schedule() completes where the executor runs", Place, EKIDEN_ALL_PLACES,
                   ekiden_test::on_lane_handle) {
    Place place;
    const auto e = place.executor();
    const auto scheduler = ekiden::as_scheduler(e);
    static_assert(ex::scheduler<std::decay_t<decltype(scheduler)>>);
    std::atomic<bool> done{false};
    bool was_inside = false;
    int result = 0;
    ex::counting_scope scope;
    ex::spawn(ex::schedule(scheduler) | ex::then([&] {
                  was_inside = ekiden::running_in_this_thread(e);
                  return 42;
              }) | ex::then([&](int i) noexcept {
                  result = i;
                  done = true;
              }) | ex::upon_error([](auto&&) noexcept {}),
              scope.get_token());
    place.run_until(done);
    sync_wait(scope.join());
    CHECK(result == 42);
    CHECK(was_inside);
    place.finish();
}

TEST_CASE("sync_wait returns the values, throws the error, and returns nothing after a stop") {
    ekiden::thread_pool pool(1);
    const auto on_pool = ekiden::as_scheduler(pool);
    const auto values = sync_wait(ex::schedule(on_pool) | ex::then([] { return std::string("text"); }));
    REQUIRE(values.has_value());
    CHECK(std::get<0>(*values) == "text");
    in_worker(pool, [&] {
        CHECK_THROWS_WITH_AS(
            sync_wait(ex::schedule(on_pool) | ex::then([] { throw std::runtime_error("reason"); })), "reason",
            std::runtime_error);
    });
    ex_tokens::inplace_stop_source source;
    source.request_stop();
    CHECK_FALSE(sync_wait(ex::write_env(ex::schedule(on_pool) | ex::then([] { return 1; }),
                                        ex::prop(ex_tokens::get_stop_token, source.get_token())))
                    .has_value());
}

TEST_CASE("let_value, when_all, starts_on and continues_on run where they say") {
    ekiden::thread_pool pool(2);
    ekiden::thread_pool other(1);
    const ekiden::strand serial(other.get_executor());
    const auto on_pool = ekiden::as_scheduler(pool);
    const auto on_strand = ekiden::as_scheduler(serial);
    const auto is_in_pool = [&] { return pool.running_in_this_thread(); };
    const auto is_in_strand = [&] { return serial.running_in_this_thread(); };

    const auto [a, b] = *sync_wait(ex::when_all(ex::schedule(on_pool) | ex::then(is_in_pool),
                                                ex::schedule(on_strand) | ex::then(is_in_strand)));
    CHECK(a);
    CHECK(b);
    const auto [c] = *sync_wait(ex::starts_on(on_strand, ex::just() | ex::then(is_in_strand)));
    CHECK(c);
    const auto [d] = *sync_wait(ex::schedule(on_pool) | ex::then(is_in_pool) | ex::continues_on(on_strand)
                                | ex::then([&](bool before) { return before && is_in_strand(); }));
    CHECK(d);
    const auto [e] =
        *sync_wait(ex::schedule(on_pool) | ex::then([] { return std::make_unique<int>(7); })
                   | ex::let_value([&](const std::unique_ptr<int>& p) {
                         return ex::schedule(on_strand) | ex::then([&] { return is_in_strand() ? *p : 0; });
                     }));
    CHECK(e == 7);
}

TEST_CASE("an error in one part of when_all stops the other parts") {
    ekiden::thread_pool pool(1);
    const auto on_pool = ekiden::as_scheduler(pool);
    bool has_run = false;
    // The only worker runs the first part first. Then the second part sees the stop request.
    in_worker(pool, [&] {
        CHECK_THROWS_AS(
            sync_wait(ex::starts_on(
                on_pool, ex::when_all(ex::just() | ex::then([] { throw std::runtime_error("one"); }),
                                      ex::schedule(on_pool) | ex::then([&] { has_run = true; })))),
            std::runtime_error);
    });
    CHECK_FALSE(has_run);
}

TEST_CASE("upon_error and let_error get the exception, and upon_stopped the stop") {
    ekiden::thread_pool pool(2);
    const auto on_pool = ekiden::as_scheduler(pool);
    const auto [a] = *sync_wait(ex::schedule(on_pool) | ex::then([]() -> int { throw std::logic_error("x"); })
                                | ex::upon_error([](const std::exception_ptr&) { return 3; }));
    CHECK(a == 3);
    const auto [b] = *sync_wait(ex::schedule(on_pool) | ex::then([]() -> int { throw std::logic_error("x"); })
                                | ex::let_error([&](const std::exception_ptr&) {
                                      return ex::schedule(on_pool) | ex::then([] { return 4; });
                                  }));
    CHECK(b == 4);
    ex_tokens::inplace_stop_source source;
    source.request_stop();
    const auto [c] = *sync_wait(
        ex::write_env(ex::schedule(on_pool) | ex::then([] { return 1; }) | ex::upon_stopped([] { return 5; }),
                      ex::prop(ex_tokens::get_stop_token, source.get_token())));
    CHECK(c == 5);
}

TEST_CASE("a scope joins all operations that it has spawned, and stops the operations that wait") {
    ekiden::thread_pool pool(2);
    const auto on_pool = ekiden::as_scheduler(pool);
    std::atomic<int> ran{0};
    ex::counting_scope scope;
    for (int i = 0; i != 10'000; ++i)
        ex::spawn(ex::schedule(on_pool) | ex::then([&]() noexcept { ++ran; }), scope.get_token());
    sync_wait(scope.join());
    CHECK(ran == 10'000);

    ran = 0;
    ex::counting_scope stopped;
    pool.pause();
    for (int i = 0; i != 100; ++i)
        ex::spawn(ex::schedule(on_pool) | ex::then([&]() noexcept { ++ran; }), stopped.get_token());
    stopped.request_stop();
    pool.resume();
    sync_wait(stopped.join());
    CHECK(ran == 0);
}

#if defined(EKIDEN_TEST_SENDERS_stdexec) // C++26 and Beman have no split
TEST_CASE("split gives one result to several receivers") {
    ekiden::thread_pool pool(2);
    std::atomic<int> calls{0};
    auto shared = exec::split(ex::schedule(ekiden::as_scheduler(pool)) | ex::then([&] { return ++calls; }));
    const auto [a, b] = *sync_wait(ex::when_all(shared, shared));
    CHECK(a == 1);
    CHECK(b == 1);
}
#endif

TEST_CASE("sync_wait in the only worker of a pool runs the tasks for which it waits") {
    ekiden::thread_pool pool(1);
    const auto on_pool = ekiden::as_scheduler(pool);
    auto result = pool.submit([&] {
        const auto [a, b] =
            *ekiden::sync_wait(ex::when_all(ex::schedule(on_pool) | ex::then([] { return 1; }),
                                            ex::schedule(on_pool) | ex::then([] { return 2; })));
        const auto [c] = *sync_wait(ex::schedule(on_pool) | ex::then([] { return 3; }));
        return a + b + c;
    });
    CHECK(result.get() == 6);

    // Work that returns to where it was started returns to the pool, whose only worker waits.
    auto returned = pool.submit([&] {
        ekiden::thread_pool other(1);
        return std::get<0>(
            *ekiden::sync_wait(ex::on(ekiden::as_scheduler(other), ex::just(1))
                               | ex::then([&](int i) { return pool.running_in_this_thread() ? i : 0; })));
    });
    CHECK(returned.get() == 1);
}

TEST_CASE("task_scheduler accepts the schedulers of pools, loops, strands and lanes") {
    ekiden::thread_pool pool(1);
    ekiden::loop_context loop;
    const ekiden::strand serial(pool.get_executor());
    const ex::task_scheduler on_pool(ekiden::as_scheduler(pool));
    const ex::task_scheduler on_strand(ekiden::as_scheduler(serial));
    const ex::task_scheduler on_loop(ekiden::as_scheduler(loop));
    const ekiden::lanes<int, ekiden::thread_pool::executor_type> lanes(pool.get_executor());
    const auto handle = lanes.lane(7);
    const ex::task_scheduler on_lane(ekiden::as_scheduler(handle));
    CHECK(std::get<0>(*sync_wait(
        ex::schedule(on_lane) | ex::then([&] { return handle.get_executor().running_in_this_thread(); }))));
    CHECK(std::get<0>(
        *sync_wait(ex::schedule(on_strand) | ex::then([&] { return serial.running_in_this_thread(); }))));
    CHECK(std::get<0>(
        *sync_wait(ex::schedule(on_pool) | ex::then([&] { return pool.running_in_this_thread(); }))));
    bool was_inside = false;
    ex::counting_scope scope;
    ex::spawn(ex::schedule(on_loop)
                  | ex::then([&]() noexcept { was_inside = loop.running_in_this_thread(); }),
              scope.get_token());
    loop.run();
    sync_wait(scope.join());
    CHECK(was_inside);
}

TEST_CASE("the attributes of a pool's sender name its scheduler and its guarantee of progress") {
    ekiden::thread_pool pool(1);
    const auto on_pool = ekiden::as_scheduler(pool);
    CHECK(ex::get_completion_scheduler<ex::set_value_t>(ex::get_env(ex::schedule(on_pool))) == on_pool);
    CHECK(ex::get_forward_progress_guarantee(on_pool) == ex::forward_progress_guarantee::parallel);
    CHECK(ex::get_forward_progress_guarantee(ekiden::as_scheduler(ekiden::any_executor(pool.get_executor())))
          == ex::forward_progress_guarantee::weakly_parallel);
}

namespace {

ex::task<int> hops(ekiden::thread_pool& other, const ekiden::strand<ekiden::thread_pool::executor_type>& home,
                   int& at_home) {
    at_home += home.running_in_this_thread() ? 1 : 0;
    co_await ex::schedule(ekiden::as_scheduler(other));
    at_home += home.running_in_this_thread() ? 1 : 0; // the task is back on its own scheduler
    const int value = co_await (ex::schedule(ekiden::as_scheduler(other)) | ex::then([] { return 5; }));
    at_home += home.running_in_this_thread() ? 1 : 0;
    co_await (ex::schedule(ekiden::as_scheduler(other)) | ex::let_value([] { return ex::just(); }));
    at_home += home.running_in_this_thread() ? 1 : 0;
    co_return value;
}

} // namespace

TEST_CASE("a task of the implementation runs on a strand and comes back to it") {
    ekiden::thread_pool pool(2);
    ekiden::thread_pool other(1);
    const ekiden::strand serial(pool.get_executor());
    int at_home = 0;
    const auto [value] = *sync_wait(ex::schedule(ekiden::as_scheduler(serial))
                                    | ex::let_value([&] { return hops(other, serial, at_home); }));
    CHECK(value == 5);
    CHECK(at_home == 4);
}
