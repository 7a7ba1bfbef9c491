/// Shows tasks while they run: which thread runs each task, what each thread of the pool does, and the pool's
/// metrics.
#include <ekiden/observe.hpp>
#include <ekiden/pool.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

using namespace std::chrono_literals;

int main() {
    constexpr std::size_t count = 30;
    ekiden::thread_pool pool({.threads = 2, .max_threads = 10});
    std::size_t threads = 0;
    {
        ekiden::live_view view(count, {.interval = 20ms}); // the default interval is 200 ms
        for (std::size_t i = 0; i != count; ++i) {
            pool.post([&view, i] {
                const ekiden::live_view::task here(view, i);
                ekiden::block([] { std::this_thread::sleep_for(50ms); });
            });
        }
        pool.wait_idle();
        threads = view.threads();
    }
    std::cerr << threads << " threads\n";

    {
        const ekiden::live_view view(pool, {.interval = 20ms});
        for (int i = 0; i != 4; ++i)
            pool.post([] { ekiden::block([] { std::this_thread::sleep_for(50ms); }); });
        pool.wait_idle();
    }

    ekiden::prometheus_page page;
    add_metrics(page, pool.metrics(), "requests");
    std::cout << page.text();
    return threads >= 1 && threads <= 10 ? EXIT_SUCCESS : EXIT_FAILURE;
}
