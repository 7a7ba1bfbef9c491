/// The smallest program: a pool, a task without a result, and a task with a result.
#include <ekiden/pool.hpp>

#include <iostream>

int main() {
    ekiden::thread_pool pool; // one worker per core that this process may use

    pool.post([] { std::cout << "hello from a worker\n"; });
    pool.wait_idle(); // until all tasks have run

    ekiden::future<int> product = pool.submit([](int a, int b) { return a * b; }, 6, 7);
    std::cout << "6 * 7 = " << product.get() << '\n';
}
