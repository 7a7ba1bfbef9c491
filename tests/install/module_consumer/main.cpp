// A program that takes the library as a module.
#include <chrono>
#include <coroutine> // for coroutines of the program
#include <mutex>
#include <string>

import ekiden;

int double_in(ekiden::thread_pool& pool, int n); // its source includes headers

ekiden::coroutine<int> answer() {
    co_await ekiden::sleep_for(std::chrono::milliseconds(1));
    co_return 42;
}

int main() {
    ekiden::thread_pool pool({.threads = 2});
    auto product = pool.submit([](int a, int b) { return a * b; }, 6, 7);

    const ekiden::lanes<std::string> accounts(pool.get_executor());
    int deposits = 0;
    for (int i = 0; i != 10; ++i) (void)accounts.post("ada", [&deposits] { ++deposits; });
    accounts.wait_idle("ada");

    ekiden::mutex mutex;
    long sum = 0;
    ekiden::parallel_for(pool, 0, 100, [&](int i) {
        const std::lock_guard lock(mutex);
        sum += i;
    });

    ekiden::post(pool, [] {});
    pool.wait_idle();
    const int awaited = ekiden::sync_wait(pool.get_executor(), answer());
    return product.get() == 42 && deposits == 10 && sum == 4950 && awaited == 42 && double_in(pool, 21) == 42
               ? 0
               : 1;
}
