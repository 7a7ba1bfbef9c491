// What each package is tried with: a task's result, and tasks of one key in order.
#include <ekiden/ekiden.hpp>

#include <cstdio>
#include <vector>

int main() {
    std::vector<int> seen;
    ekiden::thread_pool pool;
    ekiden::lanes<int> orders(pool.get_executor());
    for (int i = 0; i < 100; ++i) ekiden::post(orders.get_executor(7), [&seen, i] { seen.push_back(i); });
    const int product = pool.submit([] { return 6 * 7; }).get();
    pool.wait_idle();
    for (int i = 0; i < 100; ++i) {
        if (seen.at(static_cast<std::size_t>(i)) != i) return 1;
    }
    std::printf("ekiden: 6 * 7 = %d, and %zu tasks of one key came in order\n", product, seen.size());
    return product == 42 ? 0 : 1;
}
