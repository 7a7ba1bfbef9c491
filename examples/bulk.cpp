/// Many similar tasks: one call queues all of them.
#include <ekiden/pool.hpp>

#include <cmath>
#include <cstddef>
#include <iostream>
#include <numeric>
#include <vector>

int main() {
    constexpr std::size_t blocks = 64;
    constexpr std::size_t block_size = 10'000;
    std::vector<double> sums(blocks);

    ekiden::thread_pool pool;
    pool.post_bulk(blocks, [&sums](std::size_t block) {
        double sum = 0; // 1 - 1/3 + 1/5 - 1/7 ... is a quarter of pi
        for (std::size_t i = block * block_size; i < (block + 1) * block_size; ++i)
            sum += (i % 2 == 0 ? 1.0 : -1.0) / static_cast<double>(2 * i + 1);
        sums[block] = sum;
    });
    pool.wait_idle(); // everything that the tasks wrote is visible now

    const double pi = 4 * std::accumulate(sums.begin(), sums.end(), 0.0);
    std::cout << "pi is about " << pi << '\n';
    return std::abs(pi - 3.14159265) < 1e-5 ? 0 : 1;
}
