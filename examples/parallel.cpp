/// Splits work: parallel calls that split further, a loop, and a group of tasks.
#include <ekiden/fork.hpp>

#include <cstddef>
#include <iostream>
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

    long halves[2] = {};
    ekiden::task_group group;
    for (int half = 0; half < 2; ++half) group.spawn([&halves, half] { halves[half] = half + 1; });
    group.wait(); // throws an exception of a task

    return small == 55 && large == 75'025 && squares.back() == 9'999UL * 9'999UL && halves[0] + halves[1] == 3
               ? 0
               : 1;
}
