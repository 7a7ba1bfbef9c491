/// Executors: where functions run, in which order, and how their completion is reported.
#include <ekiden/execution.hpp>
#include <ekiden/future.hpp>
#include <ekiden/loop.hpp>
#include <ekiden/pool.hpp>
#include <ekiden/timer.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>

namespace {

/// The order in which a strand runs functions.
std::string order_of_a_strand() {
    ekiden::loop_context loop(1);
    const ekiden::strand s(loop.get_executor());
    std::string order;
    ekiden::post(s, [&] {
        order += 'a';
        ekiden::post(s, [&] { order += 'c'; });     // after all queued functions
        ekiden::dispatch(s, [&] { order += 'b'; }); // inside the strand: immediately
        ekiden::defer(s, [&] { order += 'd'; });    // like post, but wakes no thread before this task ends
    });
    ekiden::post(s, [&] { order += 'x'; });
    loop.run();
    return order;
}

/// One operation, and several ways to learn of its completion.
int ends_of_an_operation(ekiden::thread_pool& pool) {
    ekiden::post(pool, [] {});                                              // a function
    auto answer = ekiden::post(pool, ekiden::use_future([] { return 6; })); // a future
    auto other = pool.submit([] { return 7; });
    auto product = ekiden::when_all(std::move(answer), std::move(other)) // no thread waits
                       .then(pool.get_executor(), [](auto both) {
                           auto [a, b] = std::move(both);
                           return a.get() * b.get();
                       });
    return product.get();
}

/// A canceled timer always reports that it was canceled.
bool is_canceled_in_time() {
    ekiden::loop_context loop(1);
    ekiden::steady_timer timer(loop, std::chrono::hours(1));
    bool was_canceled = false;
    timer.async_wait([&](std::error_code error) { was_canceled = error == std::errc::operation_canceled; });
    ekiden::post(loop, [&] { timer.cancel(); });
    loop.run();
    return was_canceled;
}

} // namespace

int main() {
    ekiden::thread_pool pool(2);
    const ekiden::strand s(pool.get_executor());

    // The handler runs in the strand, whichever context calls it.
    ekiden::post(pool, ekiden::bind_executor(s, [] { std::cout << "in the strand\n"; }));
    pool.wait_idle();

    const std::string order = order_of_a_strand();
    const int product = ends_of_an_operation(pool);
    const bool canceled = is_canceled_in_time();
    std::cout << order << ", " << product << ", " << std::boolalpha << canceled << '\n';
    return order == "abxcd" && product == 42 && canceled ? 0 : 1;
}
