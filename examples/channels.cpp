// Channels: unbounded, bounded and rendezvous, between threads and coroutines.
#include <ekiden/async.hpp>
#include <ekiden/pool.hpp>
#include <ekiden/sync.hpp>

#include <cstdio>
#include <span>
#include <thread>
#include <vector>

using ekiden::channel;
using ekiden::coroutine;
using ekiden::queue_status;

long add_up() {
    channel<int> numbers; // no bound: a push never waits
    std::jthread producer([&] {
        for (int i = 1; i <= 1000; ++i) (void)numbers.push(i);
        numbers.close(); // the consumer still gets the numbers inside
    });
    long sum = 0;
    while (const auto number = numbers.pop()) sum += *number;
    return sum;
}

coroutine<> produce(channel<int>& numbers) {
    for (int i = 1; i <= 1000; ++i) {
        const queue_status status = co_await ekiden::async_push(numbers, i); // waits while 64 are inside
        if (status != queue_status::done) co_return;                         // closed or stopped
    }
    numbers.close();
}

coroutine<long> consume(channel<int>& numbers) {
    long sum = 0;
    for (;;) {
        const auto number = co_await ekiden::async_pop(numbers);
        if (!number) co_return sum; // closed, and empty
        sum += *number;
    }
}

bool hand_over() {
    channel<int> desk(0);
    std::jthread clerk([&] { (void)desk.pop(); });
    return desk.push(7) == queue_status::done; // returns when the clerk has taken the number
}

coroutine<std::size_t> in_batches(channel<int>& numbers) {
    std::size_t count = 0;
    std::vector<int> batch;
    for (;;) {
        batch.clear();
        const queue_status status = co_await ekiden::async_pop_up_to(numbers, batch, 100);
        if (status != queue_status::done) co_return count;
        count += batch.size();
    }
}

int main() {
    ekiden::thread_pool pool(2);
    const auto here = pool.get_executor();

    channel<int> bounded(64);
    auto producing = ekiden::co_spawn(here, produce(bounded), ekiden::use_future);
    const long by_coroutines = ekiden::sync_wait(here, consume(bounded));
    producing.get();

    channel<int> batched;
    std::vector<int> items(1000, 1);
    const ekiden::pushed_range pushed = batched.push_range(items);
    batched.close();
    const std::size_t in_all = ekiden::sync_wait(here, in_batches(batched));

    const long by_threads = add_up();
    const bool was_taken = hand_over();
    std::printf("threads %ld, coroutines %ld, batches %zu, rendezvous %d\n", by_threads, by_coroutines,
                in_all, was_taken ? 1 : 0);
    return by_threads == 500500 && by_coroutines == 500500 && pushed.count == 1000 && in_all == 1000
                   && was_taken
               ? 0
               : 1;
}
