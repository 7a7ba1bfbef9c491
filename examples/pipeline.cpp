/// A pipeline: lines are read in order, parsed in parallel, and written in order.
#include <ekiden/async.hpp>
#include <ekiden/flow.hpp>

#include <iostream>
#include <optional>
#include <sstream>
#include <string>

int main() {
    std::istringstream input("1 2 3\n4 5\n6\n");
    std::ostringstream output;

    ekiden::pipeline sums(
        // The first stage makes the items. An empty optional ends the run.
        ekiden::in_order_stage([&]() -> std::optional<std::string> {
            std::string line;
            if (!std::getline(input, line)) return std::nullopt;
            return line;
        }),
        // Several lines at once.
        ekiden::parallel_stage([](const std::string& line) {
            std::istringstream numbers(line);
            int sum = 0;
            for (int number = 0; numbers >> number;) sum += number;
            return sum;
        }),
        // A stage may be a coroutine. While it waits, no thread is blocked.
        ekiden::parallel_stage([](int sum) -> ekiden::coroutine<int> {
            co_await ekiden::yield();
            co_return sum * 10;
        }),
        // One line at a time, in the order of the input.
        ekiden::in_order_stage([&](int sum) { output << sum << ' '; }));

    const bool is_whole = sums.run({.in_flight = 16}); // at most 16 lines are in memory
    std::cout << output.str() << '\n';
    return is_whole && output.str() == "60 90 60 " ? 0 : 1;
}
