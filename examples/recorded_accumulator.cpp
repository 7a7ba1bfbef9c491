/// Many threads send one request each to a service that processes them in order of arrival. Request i adds i
/// + 1 random numbers to a sum. The requests are recorded. `./dev lab replay` shows how other ways to process
/// requests would handle them.
#include <ekiden/observe.hpp>
#include <ekiden/sync.hpp>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

/// Returns the final sum, which does not depend on the order of arrival.
std::uint64_t expected(std::uint64_t requests) {
    std::mt19937 draws;
    std::uint64_t sum = 0;
    std::uint64_t all = 0;
    for (std::uint64_t i = 0; i != requests; ++i) all += sum += draws();
    return all;
}

} // namespace

/// Arguments: the number of threads (default: 100), and the name of the trace file (default: the terminal).
int main(int count, char** words) {
    const std::uint64_t threads = count > 1 ? std::stoul(words[1]) : 100;
    ekiden::request_log log({.capacity = threads, .plain_numbers = true});
    ekiden::fifo_mutex mutex;
    std::uint64_t served = 0;
    std::uint64_t sum = 0;
    {
        std::vector<std::jthread> crowd;
        for (std::uint64_t i = 0; i != threads; ++i)
            crowd.emplace_back([&] {
                auto request = log.wrap(0, [&] { // the request arrives here
                    std::mt19937 draws;
                    for (std::uint64_t n = served++ + 1; n != 0; --n) sum += draws();
                });
                const std::lock_guard lock(mutex);
                request(); // the request is served here
            });
    }
    std::ofstream file;
    if (count > 2) file.open(words[2]);
    std::ostream& out = count > 2 ? file : std::cout;
    const auto found = log.write_csv(out);
    if (!out.flush()) return EXIT_FAILURE;
    return found.written == threads && sum == expected(threads) ? EXIT_SUCCESS : EXIT_FAILURE;
}
