/// Functions that wait without a thread. They use a strand for order, a deadline, a channel with many
/// producers and consumers, a scope that waits for its children, and a lock that threads and coroutines
/// share.
#include <ekiden/async.hpp>
#include <ekiden/execution.hpp>
#include <ekiden/pool.hpp>
#include <ekiden/sync.hpp>

#include <iostream>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
using ekiden::coroutine;

coroutine<int> answer() {
    co_await ekiden::sleep_for(1ms); // no thread waits
    co_return 42;
}

coroutine<int> twice() {
    const int once = co_await answer();
    co_return 2 * once;
}

/// Each coroutine moves to the strand for each addition, so the sum needs no lock.
coroutine<void> add(ekiden::strand<ekiden::thread_pool::executor_type> ledger, int& sum) {
    for (int i = 0; i != 100; ++i) {
        co_await ekiden::resume_on(ledger);
        ++sum;
    }
}

coroutine<void> produce(ekiden::bounded_buffer<int>& channel, int count) {
    for (int i = 1; i <= count; ++i) {
        int item = i;
        const auto result = co_await ekiden::async_push(channel, std::move(item));
        if (result != ekiden::queue_status::done) co_return; // closed or stopped: the item is unchanged
    }
}

coroutine<long> consume(ekiden::bounded_buffer<int>& channel) {
    long sum = 0;
    for (;;) {
        const auto item = co_await ekiden::async_pop(channel);
        if (!item) co_return sum; // closed, and empty
        sum += *item;
    }
}

coroutine<long> pass_through_a_channel() {
    ekiden::bounded_buffer<int> channel(16);
    const auto produce_all = [&]() -> coroutine<void> {
        co_await ekiden::when_all(produce(channel, 1000), produce(channel, 1000));
        channel.close();
    };
    auto [nothing, first, second] =
        co_await ekiden::when_all(produce_all, consume(channel), consume(channel));
    static_cast<void>(nothing);
    co_return first + second;
}

/// The slow coroutine is stopped. It has ended when with_timeout() returns.
coroutine<bool> is_too_slow() {
    const auto slow = []() -> coroutine<void> { co_await ekiden::sleep_for(1h); };
    try {
        co_await ekiden::with_timeout(1ms, slow);
        co_return false;
    } catch (const std::system_error& error) {
        co_return error.code() == std::errc::timed_out;
    }
}

coroutine<std::size_t> quickest() {
    const auto after = [](std::chrono::milliseconds time) {
        return [time]() -> coroutine<void> { co_await ekiden::sleep_for(time); };
    };
    const auto winner = co_await ekiden::when_any(after(1h), after(1ms));
    co_return winner.index();
}

/// A thread and coroutines use one lock, in the order of their requests.
coroutine<void> count_under(ekiden::mutex& m, int& counter) {
    for (int i = 0; i != 1000; ++i) {
        const auto lock = co_await ekiden::async_lock(m);
        ++counter;
    }
}

coroutine<int> share_a_lock() {
    ekiden::mutex m;
    int counter = 0;
    std::jthread thread([&] {
        for (int i = 0; i != 1000; ++i) {
            const std::lock_guard lock(m);
            ++counter;
        }
    });
    const ekiden::environment& here = co_await ekiden::get_environment();
    ekiden::async_scope scope(here);
    const auto count = [&] { return count_under(m, counter); };
    for (int i = 0; i != 3; ++i) {
        if (!scope.spawn(count)) break; // the scope is closed
    }
    co_await scope.wait();
    thread.join();
    co_return counter;
}

} // namespace

int main() {
    ekiden::thread_pool pool;
    const auto here = pool.get_executor();
    int sum = 0;
    const ekiden::strand ledger(here);
    auto added = ekiden::co_spawn(
        pool, [&] { return ekiden::when_all(add(ledger, sum), add(ledger, sum)); }, ekiden::use_future);
    added.get();
    const int eighty_four = ekiden::sync_wait(here, twice());
    const long passed = ekiden::sync_wait(here, pass_through_a_channel());
    const bool too_slow = ekiden::sync_wait(here, is_too_slow());
    const std::size_t first = ekiden::sync_wait(here, quickest());
    const int counted = ekiden::sync_wait(here, share_a_lock());
    std::cout << sum << ' ' << eighty_four << ' ' << passed << ' ' << too_slow << ' ' << first << ' '
              << counted << '\n';
    return sum == 200 && eighty_four == 84 && passed == 1'001'000 && too_slow && first == 1 && counted == 4000
               ? 0
               : 1;
}
