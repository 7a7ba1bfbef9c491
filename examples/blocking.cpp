/// Tasks that block. The pool lets other threads work meanwhile, so the processors stay busy.
#include <ekiden/pool.hpp>

#include <cstdlib>
#include <iostream>
#include <vector>

#include <unistd.h>

int main() {
    constexpr int readers = 8;
    int ends[2];
    if (::pipe(ends) != 0) return EXIT_FAILURE;

    // Two threads compute, however many block; there are never more than 16.
    ekiden::thread_pool pool({.threads = 2, .max_threads = 16});

    std::vector<ekiden::future<char>> answers;
    for (int i = 0; i != readers; ++i) {
        answers.push_back(pool.submit([in = ends[0]] {
            char answer = 0;
            const auto got =
                ekiden::block([&] { return ::read(in, &answer, 1); }); // tells the pool that it may block
            return got == 1 ? answer : '?';
        }));
    }
    // All eight tasks wait for the bytes that are written below. This task runs nevertheless.
    const int computed = pool.submit([] { return 6 * 7; }).get();

    if (::write(ends[1], "answered", readers) != readers) return EXIT_FAILURE;
    int wrong = 0;
    for (auto& answer : answers) wrong += answer.get() == '?';
    std::cout << computed << " while " << readers << " tasks were blocked; at most "
              << pool.metrics().peak_threads << " threads\n";
    ::close(ends[0]);
    ::close(ends[1]);
    return computed == 42 && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
