// A worker process, which tests kill. Usage: postgres_worker CONNECTION
// Ends when its standard input ends, so that no process outlives its test.
#include <tests/unit/postgres/checker.hpp>

#include <cstdio>
#include <exception>
#include <thread>
#include <unistd.h>

int main(int count, char** arguments) {
    if (count != 2) return 2;
    try {
        ekiden::postgres::worker worker({.connection = arguments[1]}, {.queue = "in", .connections = 4},
                                        ekiden_test::apply);
        std::jthread ends([&worker] {
            char byte = 0;
            while (::read(STDIN_FILENO, &byte, 1) > 0) continue;
            (void)worker.close(std::chrono::seconds(60));
        });
        worker.run();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
