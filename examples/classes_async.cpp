/// A short example for each class of <ekiden/async.hpp>. The reference shows them.
#include <ekiden/async.hpp>
#include <ekiden/execution.hpp>
#include <ekiden/lanes.hpp>
#include <ekiden/pool.hpp>
#include <ekiden/sync.hpp>
#include <ekiden/timer.hpp>

#include <chrono>
#include <cstdio>
#include <stop_token>

using namespace std::chrono_literals;
using ekiden::coroutine;

namespace {

coroutine<int> answer() {
    co_await ekiden::sleep_for(1ms); // blocks no thread
    co_return 42;
}

coroutine<int> twice() {
    const int once = co_await answer();
    co_return 2 * once;
}

bool coroutine_example(ekiden::thread_pool& pool) {
    return ekiden::sync_wait(pool.get_executor(), twice()) == 84;
}

coroutine<bool> async_scope_example() {
    ekiden::async_scope scope(co_await ekiden::get_environment());
    for (int i = 0; i != 3; ++i) {
        if (!scope.spawn(answer())) co_return false; // the scope is closed
    }
    co_await scope.wait(); // until all three have ended
    co_return true;
}

coroutine<bool> async_lock_guard_example() {
    ekiden::mutex mutex;
    int counter = 0;
    {
        const auto guard = co_await ekiden::async_lock(mutex); // blocks no thread
        ++counter;
    }
    co_return counter == 1;
}

coroutine<bool> environment_example() {
    const ekiden::environment& here = co_await ekiden::get_environment();
    bool called = false;
    ekiden::dispatch(here.executor, [&] { called = true; }); // the coroutine runs on this executor
    co_return called;
}

bool spawn_options_example(ekiden::thread_pool& pool) {
    std::stop_source stop;
    const auto chosen = ekiden::spawn_options().stop(stop.get_token()).name("answer");
    auto result = ekiden::co_spawn(pool.get_executor(), answer(), ekiden::use_future, chosen);
    return result.get() == 42;
}

coroutine<bool> use_awaitable_example(ekiden::thread_pool& pool) {
    ekiden::steady_timer timer(pool, 1ms);
    co_await timer.async_wait(ekiden::use_awaitable); // throws if the wait fails
    timer.expires_after(1ms);
    const auto [error] = co_await timer.async_wait(ekiden::use_awaitable.as_tuple);
    co_return !error;
}

coroutine<bool> timed_out_example() {
    const auto slow = []() -> coroutine<> { co_await ekiden::sleep_for(1h); };
    try {
        co_await ekiden::with_timeout(1ms, slow);
        co_return false;
    } catch (const ekiden::timed_out&) {
        co_return true; // `slow` has ended
    }
}

coroutine<bool> lane_turn_example(ekiden::thread_pool& pool) {
    const ekiden::lanes<int> bank(pool.get_executor());
    int balance = 0; // data of the key 1
    {
        const auto turn = co_await ekiden::async_turn(bank, 1);
        const int before = balance;
        co_await ekiden::sleep_for(1ms); // no other request of the key 1 runs meanwhile
        balance = before + 1;
    }
    co_return balance == 1;
}

bool operation_canceled_example(ekiden::thread_pool& pool) {
    std::stop_source stop;
    stop.request_stop();
    try {
        const auto chosen = ekiden::spawn_options().stop(stop.get_token());
        return ekiden::sync_wait(pool.get_executor(), answer(), chosen) != 42;
    } catch (const ekiden::operation_canceled&) { // sleep_for() was stopped
        return true;
    }
}

coroutine<bool> select_priority_example() {
    ekiden::bounded_buffer<int> urgent(4);
    ekiden::bounded_buffer<int> usual(4);
    if (usual.push(2) != ekiden::queue_status::done) co_return false;
    ekiden::select_priority order(9); // nine times in a row, the first buffer comes first
    const auto item = co_await ekiden::select(order, urgent, usual);
    co_return item && item->index() == 1;
}

} // namespace

int main() {
    ekiden::thread_pool pool(2);
    const auto here = pool.get_executor();
    const bool examples[] = {coroutine_example(pool),
                             ekiden::sync_wait(here, async_scope_example()),
                             ekiden::sync_wait(here, async_lock_guard_example()),
                             ekiden::sync_wait(here, lane_turn_example(pool)),
                             ekiden::sync_wait(here, environment_example()),
                             spawn_options_example(pool),
                             ekiden::sync_wait(here, use_awaitable_example(pool)),
                             ekiden::sync_wait(here, timed_out_example()),
                             ekiden::sync_wait(here, select_priority_example()),
                             operation_canceled_example(pool)};
    int failed = 0;
    for (const bool worked : examples) failed += worked ? 0 : 1;
    std::printf("%d examples failed\n", failed);
    return failed;
}
