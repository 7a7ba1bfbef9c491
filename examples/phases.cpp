/// Threads that work in phases. No thread begins a phase before all threads have finished the previous one.
#include <ekiden/sync.hpp>

#include <iostream>
#include <thread>
#include <vector>

int main() {
    constexpr int workers = 4;
    constexpr int rounds = 10;
    std::vector<int> cells(workers, 1);
    int sum = 0;

    ekiden::barrier phase(workers, [&]() noexcept { // only the last arrival runs this
        sum = 0;
        for (const int cell : cells) sum += cell;
    });
    {
        std::vector<std::jthread> threads;
        for (std::size_t me = 0; me < workers; ++me) {
            threads.emplace_back([&, me] {
                for (int round = 0; round < rounds; ++round) {
                    phase.arrive_and_wait();
                    cells[me] = sum % 1'000 + static_cast<int>(me);
                    phase.arrive_and_wait();
                }
            });
        }
    }
    std::cout << "the cells add up to " << sum << '\n';
    return sum == cells[0] + cells[1] + cells[2] + cells[3] ? 0 : 1;
}
