// Parts that run for real are refused in a simulation, with a message. A failure that was found is reported
// even if the system refuses resources.
#include "quiet.hpp"

#include <tests/unit/failing_threads.hpp>

#include <ekiden/async/co_spawn.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/then.hpp>
#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/loop/loop_pool.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/explore.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <system_error>

using namespace ekiden;

namespace {

/// Returns the text that an exploration reports for a test that calls `test`.
std::string told_of(const std::function<void(sim_context&)>& test) {
    const auto result = sim::explore(quiet(1), [&](sim_context& sim) {
        test(sim);
        sim.run();
    });
    if (result.kind != sim::verdict::real) return "";
    CHECK(result.text.find("sim_context") != std::string::npos); // the text names the alternative
    return result.why;
}

} // namespace

TEST_CASE("a context that runs for real cannot be made in a simulation, which says what to use") {
    CHECK(told_of([](sim_context&) { const thread_pool pool({.threads = 1}); }).find("thread_pool")
          != std::string::npos);
    CHECK(told_of([](sim_context&) { const loop_context loop; }).find("loop_context") != std::string::npos);
    CHECK(told_of([](sim_context&) { const loop_pool loops({.threads = 1}); }).find("loop_")
          != std::string::npos);
    CHECK(told_of([](sim_context& sim) {
              post(sim, [] { const thread_pool pool({.threads = 1}); });
          }).find("thread_pool")
          != std::string::npos);
    // This also holds if the program catches the exception.
    CHECK(told_of([](sim_context&) {
              try {
                  const thread_pool pool({.threads = 1});
              } catch (const std::exception&) {
              }
          }).find("thread_pool")
          != std::string::npos);
}

TEST_CASE("a pool from outside takes nothing from a simulation") {
    thread_pool pool({.threads = 1});
    CHECK(told_of([&](sim_context&) { pool.post([] {}); }).find("thread_pool") != std::string::npos);
    CHECK(told_of([&](sim_context&) { (void)pool.submit([] { return 1; }).get(); }).find("thread_pool")
          != std::string::npos);
    CHECK(
        told_of([&](sim_context&) { co_spawn(pool, []() -> coroutine<> { co_return; }); }).find("thread_pool")
        != std::string::npos);
    CHECK(told_of([&](sim_context&) { parallel_for(pool, 0, 1000, [](int) {}); }).find("thread_pool")
          != std::string::npos);
    steady_timer timer(pool);
    CHECK(told_of([&](sim_context&) {
              timer.expires_after(std::chrono::milliseconds(1));
              timer.async_wait([](std::error_code) {});
          }).find("timer")
          != std::string::npos);
    // Outside the simulation, the pool works normally.
    CHECK(pool.submit([] { return 1; }).get() == 1);
}

TEST_CASE("a failure that was found is told although the system gives no thread to make it smaller") {
    const auto asks = [](sim_context& sim) {
        auto given = sim.get_executor().submit([] { return 1; });
        post(sim, [&] { (void)given.get(); });
        sim.run();
    };
    ekiden_test::threads_until_failure = 1; // only the explorer's first thread can start
    const auto result = sim::explore(quiet(1000), asks);
    CHECK(ekiden_test::threads_until_failure == -1); // one start was refused
    ekiden_test::threads_until_failure = -1;
    CHECK(result.kind == sim::verdict::blocking);
    CHECK(result.text.find("replay") != std::string::npos);
    const auto again = sim::replay(result.replay, asks, quiet(1));
    CHECK(again.kind == result.kind);
}
