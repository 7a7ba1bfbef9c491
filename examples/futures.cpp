/// Results: move-only results, exceptions, and waiting inside a task.
#include <ekiden/pool.hpp>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

/// Counts the primes below `end` by splitting the range. A worker that waits runs other tasks meanwhile, so
/// this also works in a pool with one worker.
int count_primes(ekiden::thread_pool& pool, int begin, int end) {
    if (end - begin > 5'000) {
        const int middle = begin + (end - begin) / 2;
        auto upper = pool.submit([&pool, middle, end] { return count_primes(pool, middle, end); });
        const int lower = count_primes(pool, begin, middle);
        return lower + upper.get();
    }
    int found = 0;
    for (int n = begin; n < end; ++n) {
        bool is_prime = n > 1;
        for (int divisor = 2; divisor * divisor <= n && is_prime; ++divisor) is_prime = n % divisor != 0;
        found += is_prime ? 1 : 0;
    }
    return found;
}

} // namespace

int main() {
    ekiden::thread_pool pool;

    auto owner = std::make_unique<std::string>("moved in and out");
    auto moved = pool.submit([text = std::move(owner)]() mutable { return std::move(text); });
    std::cout << *moved.get() << '\n';

    auto refused = pool.submit([](const std::vector<int>& v) { return v.at(3); }, std::vector<int>{1, 2, 3});
    try {
        std::cout << refused.get() << '\n';
        return 1;
    } catch (const std::out_of_range&) {
        std::cout << "the task's exception came through the future\n";
    }

    auto primes = pool.submit([&pool] { return count_primes(pool, 0, 50'000); });
    const int count = primes.get();
    std::cout << count << " primes below 50,000\n";
    return count == 5'133 ? 0 : 1;
}
