/// Urgent tasks overtake queued ones. Tasks of low priority wait, but do not starve.
#include <ekiden/pool.hpp>

#include <iostream>

int main() {
    constexpr int count = 100;
    int position = 0; // only the single worker writes to it
    int sum_high = 0;
    int sum_low = 0;

    ekiden::thread_pool pool({.threads = 1, .name = "example"});
    const auto low = pool.get_executor(ekiden::priority::low);
    const auto high = pool.get_executor(ekiden::priority::high);

    pool.pause(); // all tasks are then queued before the first one begins
    for (int i = 0; i < count; ++i) low.post([&] { sum_low += ++position; });
    for (int i = 0; i < count; ++i) high.post([&] { sum_high += ++position; });
    pool.resume();
    pool.wait_idle();

    std::cout << "mean place in the order: high " << sum_high / count << ", low " << sum_low / count << '\n';
    return position == 2 * count && sum_high < sum_low ? 0 : 1;
}
