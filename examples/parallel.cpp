/// Splits work: parallel calls that split further, a loop, algorithms, and groups of tasks.
#include <ekiden/fork.hpp>

#include <atomic>
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

namespace {

/// No cut-off is needed: a fork costs about as much as a call until another worker asks for work.
long fibonacci(ekiden::fork_scope& scope, int n) {
    if (n < 2) return n;
    const auto [a, b] = ekiden::parallel_invoke(
        scope, [n](ekiden::fork_scope& inner) { return fibonacci(inner, n - 1); },
        [n](ekiden::fork_scope& inner) { return fibonacci(inner, n - 2); });
    return a + b;
}

} // namespace

int main() {
    const auto [small, large] =
        ekiden::parallel_invoke([](ekiden::fork_scope& scope) { return fibonacci(scope, 10); },
                                [](ekiden::fork_scope& scope) { return fibonacci(scope, 25); });
    std::cout << "fibonacci: " << small << ", " << large << '\n';

    std::vector<std::size_t> squares(10'000);
    ekiden::parallel_for(0, squares.size(), [&](std::size_t i) { squares[i] = i * i; });

    std::vector<std::size_t> sums(squares.size());
    ekiden::parallel_inclusive_scan(squares, sums.begin()); // sums[i] is squares[0] + ... + squares[i]
    const auto first = ekiden::parallel_find_if(sums, [](std::size_t sum) { return sum > 1'000'000; });
    const bool grows = ekiden::parallel_all_of(sums, [](std::size_t sum) { return sum < 400'000'000'000; });

    std::vector<std::string> words{"pear", "fig", "plum", "date", "kiwi"};
    const auto shorter = [](const std::string& a, const std::string& b) { return a.size() < b.size(); };
    ekiden::parallel_stable_sort(words, shorter); // words of equal length keep their order

    long halves[2] = {};
    ekiden::task_group group;
    for (int half = 0; half < 2; ++half) group.spawn([&halves, half] { halves[half] = half + 1; });
    group.wait(); // throws an exception of a task

    std::atomic<int> done{0};
    ekiden::task_group downloads({.concurrency = 2}); // at most two of these tasks run at a time
    for (int file = 0; file < 10; ++file) downloads.spawn([&done] { ++done; });
    downloads.wait();
    const bool is_right = *first == 1'005'720 && grows && words.front() == "fig" && words.back() == "kiwi";
    if (!is_right || done != 10) return 1;

    return small == 55 && large == 75'025 && squares.back() == 9'999UL * 9'999UL && halves[0] + halves[1] == 3
               ? 0
               : 1;
}
