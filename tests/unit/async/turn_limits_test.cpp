// Turns in lanes with capacities, and with close(), wait_idle(), depth(), metrics(), pause() and stop().
#include "../execution/held_worker.hpp"
#include "run_coroutine.hpp"
#include "turn_support.hpp"

#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::bank;
using ekiden_test::code_of;
using ekiden_test::held_worker;
using ekiden_test::holder;
using ekiden_test::is_settled;
using ekiden_test::until;
using ekiden_test::witness;

namespace {

/// A coroutine that wants a turn. It runs on a loop of its own, so that a test decides when the lanes run.
class wanted_turn {
public:
    wanted_turn(const bank& of, std::vector<int> keys) {
        done_ = co_spawn(
            loop_,
            [this, &of, all = std::move(keys)]() -> coroutine<> {
                const auto turn = co_await async_turn(of, of.keys().write_all(all));
                has_begun = true;
            },
            use_future, spawn_options().stop(stop_.get_token()));
        run();
    }
    void run() {
        loop_.restart();
        loop_.poll();
    }
    void stop() {
        stop_.request_stop();
        run();
    }
    /// Returns the code of the exception of the coroutine, which must have ended.
    std::error_code code() {
        return code_of([&] { done_.get(); });
    }

    bool has_begun = false;

private:
    loop_context loop_;
    std::stop_source stop_;
    future<void> done_;
};

lanes_options capacity_of(bool is_bounded) { return {.lane_capacity = is_bounded ? 8U : 0U, .shards = 4}; }

} // namespace

// ---- metrics

TEST_CASE("a turn counts once as posted, and once as run or dropped, in whichever phase it is withdrawn") {
    for (const bool is_bounded : {false, true}) {
        CAPTURE(is_bounded);
        loop_context inner;
        const bank accounts(inner.get_executor(), capacity_of(is_bounded));
        const auto runs_all = [&] {
            inner.restart();
            inner.poll();
        };
        unsigned posted = 0;
        unsigned run = 0;
        const auto counts = [&](unsigned more_run, unsigned more_dropped) {
            runs_all();
            const auto now = accounts.metrics();
            posted += more_run + more_dropped;
            run += more_run;
            CHECK(now.posted == posted);
            CHECK(now.run == run);
            CHECK(now.dropped == posted - run);
            CHECK(now.active == 0);
        };
        for (const auto& keys : {std::vector{1}, std::vector{1, 2}}) {
            { // before a drain has seen the request
                wanted_turn gone(accounts, keys);
                gone.stop();
                CHECK(gone.code() == std::errc::operation_canceled);
                counts(0, 1);
            }
            { // while it waits for a lane
                wanted_turn first(accounts, {1});
                runs_all();
                wanted_turn gone(accounts, keys);
                runs_all();
                gone.stop();
                CHECK(gone.code() == std::errc::operation_canceled);
                first.run();
                CHECK(first.has_begun);
                counts(1, 1);
            }
            { // when it has all its lanes, and no drain has run
                wanted_turn gone(accounts, keys);
                CHECK(accounts.active() == keys.size()); // gives the lanes to the request
                gone.stop();
                CHECK(gone.code() == std::errc::operation_canceled);
                counts(0, 1);
            }
            { // after it has begun, before the coroutine runs
                wanted_turn first(accounts, keys);
                runs_all();
                first.stop();
                CHECK(first.has_begun);
                counts(1, 0);
            }
        }
    }
}
