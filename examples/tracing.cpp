/// Records what a program does, prints a picture for the terminal, and writes a trace for the browser. Also
/// dumps the state of the pool, as one would if the program hangs.
#include <ekiden/lanes.hpp>
#include <ekiden/observe.hpp>
#include <ekiden/pool.hpp>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string_view>

namespace {

std::uint64_t digits_of(std::uint64_t n) {
    const ekiden::trace::span here("count digits"); // until the end of the scope
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i != n; ++i) sum += i % 10;
    return sum;
}

ekiden::thread_pool* looked_at = nullptr; // for the signal handler

} // namespace

/// The argument is the name of the trace file. Without an argument, no file is written.
int main(int count, char** words) {
    ekiden::thread_pool pool({.threads = 2, .name = "requests"});
    looked_at = &pool;
    std::signal(SIGUSR1, [](int) { looked_at->dump(); }); // kill -USR1 PID
    ekiden::trace::start();

    ekiden::lanes<int> customers(pool.get_executor());
    for (int i = 0; i != 30; ++i) (void)customers.post(i % 3, [] { (void)digits_of(100'000); });
    ekiden::trace::mark("all are posted", 30);
    pool.wait_idle();

    ekiden::trace::stop();
    const ekiden::trace::snapshot shot = ekiden::trace::take();
    ekiden::write_timeline(std::cout, shot, {.columns = 60});

    if (count > 1) {
        std::ofstream file(words[1]);
        ekiden::write_chrome_trace(file, shot, {.most_lanes = 50});
        if (!file.flush()) return EXIT_FAILURE;
    }
    std::raise(SIGUSR1);
    std::size_t spans = 0;
    for (const auto& track : shot.tracks)
        for (const auto& event : track.events)
            if (event.name == "count digits") ++spans;
    std::cout << spans << " spans\n";
    return spans == 30 ? EXIT_SUCCESS : EXIT_FAILURE;
}
