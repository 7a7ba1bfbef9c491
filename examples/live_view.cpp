/// Shows tasks while they run: which thread runs each task, what each thread of the pool does, the pool's
/// metrics, and a web page that shows them.
#include <ekiden/observe.hpp>
#include <ekiden/pool.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;

/// Returns the text that an HTTP server sends for a path. A browser shows the page at "/" as charts, and the
/// page reads the path "/metrics".
std::string text_of(std::string_view path, const ekiden::thread_pool& pool) {
    if (path == "/") return std::string(ekiden::live_page());
    ekiden::prometheus_page page;
    add_metrics(page, pool.metrics(), "requests");
    return page.text();
}

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

    const std::string page = text_of("/", pool);
    const std::string metrics = text_of("/metrics", pool);
    std::cout << metrics;
    const bool has_both =
        page.starts_with("<!doctype html>") && metrics.find("ekiden_pool_threads") != std::string::npos;
    return has_both && threads >= 1 && threads <= 10 ? EXIT_SUCCESS : EXIT_FAILURE;
}
