/// The first programs that users of other libraries write, with ekiden. One function for each section of
/// docs/coming-from.md.
#include <ekiden/async.hpp>
#include <ekiden/execution.hpp>
#include <ekiden/fork.hpp>
#include <ekiden/future.hpp>
#include <ekiden/lanes.hpp>
#include <ekiden/pool.hpp>
#include <ekiden/sync.hpp>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using ekiden::coroutine;

double from_tbb(ekiden::thread_pool& pool) {
    std::vector<double> v(10'000, 0.5);
    ekiden::parallel_for(pool, 0, v.size(), [&](std::size_t i) { v[i] += static_cast<double>(i % 2); });
    ekiden::parallel_sort(pool, v);
    return ekiden::parallel_reduce(pool, v, 0.0);
}

// A runs before B and C. Both run before D.
std::string from_taskflow(ekiden::thread_pool& pool) {
    const auto here = pool.get_executor();
    auto a = pool.submit([] { return std::string("a"); }).share();
    auto b = pool.submit([a] { return a.get() + "b"; });
    auto c = pool.submit([a] { return a.get() + "c"; });
    auto d = ekiden::when_all(std::move(b), std::move(c)).then(here, [](auto both) {
        auto [left, right] = std::move(both);
        return left.get() + right.get() + "d";
    });
    return d.get();
}

std::size_t from_bs(ekiden::thread_pool& pool) {
    std::vector<std::size_t> squares(1'000);
    auto answer = pool.submit([] { return std::size_t{42}; });
    ekiden::parallel_for(pool, 0, squares.size(), [&](std::size_t i) { squares[i] = i * i; });
    pool.post([&squares] { squares[0] = 1; });
    pool.wait_idle();
    return squares[0] + answer.get();
}

coroutine<int> twice(int n) { co_return 2 * n; }

int from_too_many_cooks(ekiden::thread_pool& pool) {
    return ekiden::sync_wait(pool.get_executor(), []() -> coroutine<int> {
        std::vector<coroutine<int>> many;
        for (int i = 1; i <= 3; ++i) many.push_back(twice(i));
        int sum = 0;
        for (const int each : co_await ekiden::when_all(std::move(many))) sum += each;
        co_return sum;
    });
}

int from_tokio(ekiden::thread_pool& pool) {
    auto handle = ekiden::co_spawn(pool.get_executor(), [] { return twice(21); }, ekiden::use_future);
    auto timed = ekiden::co_spawn(
        pool.get_executor(),
        []() -> coroutine<bool> {
            const auto slow = []() -> coroutine<> { co_await ekiden::sleep_for(1h); };
            try {
                co_await ekiden::with_timeout(1ms, slow);
                co_return false;
            } catch (const std::system_error& late) {
                co_return late.code() == std::errc::timed_out;
            }
        },
        ekiden::use_future);
    return timed.get() ? handle.get() : 0;
}

coroutine<> generate(ekiden::bounded_buffer<int>& out) {
    for (int i = 1; i <= 100; ++i) {
        int item = i;
        const auto sent = co_await ekiden::async_push(out, std::move(item));
        if (sent != ekiden::queue_status::done) co_return;
    }
    out.close();
}

coroutine<int> add_up(ekiden::bounded_buffer<int>& in) {
    int sum = 0;
    for (;;) {
        const auto item = co_await ekiden::async_pop(in);
        if (!item) co_return sum; // closed, and empty
        sum += *item;
    }
}

int from_go(ekiden::thread_pool& pool) {
    ekiden::bounded_buffer<int> channel(8);
    ekiden::co_spawn(pool.get_executor(), generate(channel), ekiden::detached);
    return ekiden::sync_wait(pool.get_executor(), add_up(channel));
}

bool from_dependencies(ekiden::thread_pool& pool) {
    int a = 0;
    int b = 0;
    const ekiden::lanes<int*> lanes(pool.get_executor());
    (void)lanes.post(&a, [&a] { a = 20; });
    (void)lanes.post(lanes.keys().read(&a).write(&b), [&a, &b] { b = a + 1; });
    (void)lanes.post({&a, &b}, [&a, &b] { std::swap(a, b); });
    pool.wait_idle();
    return a == 21 && b == 20;
}

} // namespace

int main() {
    ekiden::thread_pool pool(2);
    const double sum = from_tbb(pool);
    const std::string order = from_taskflow(pool);
    const std::size_t squares = from_bs(pool);
    const int cooked = from_too_many_cooks(pool);
    const int spawned = from_tokio(pool);
    const int channelled = from_go(pool);
    const bool is_ordered = from_dependencies(pool);
    std::cout << sum << ' ' << order << ' ' << squares << ' ' << cooked << ' ' << spawned << ' ' << channelled
              << ' ' << is_ordered << '\n';
    return sum == 10'000 && order == "abacd" && squares == 43 && cooked == 12 && spawned == 42
                   && channelled == 5'050 && is_ordered
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}
