/// A user's program, as small as can be. The install test builds it in each way that the library offers.
#include <ekiden/pool/thread_pool.hpp>

int main() {
    ekiden::thread_pool pool({.threads = 2});
    ekiden::future<int> sum = pool.submit([](int a, int b) { return a + b; }, 40, 2);
    pool.post([] {});
    pool.wait_idle();
    return sum.get() == 42 ? 0 : 1;
}
