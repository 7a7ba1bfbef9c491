/// Urgent tasks overtake queued ones; a low priority waits, but is never forgotten.
#include <ekiden/pool/thread_pool.hpp>

#include <iostream>
#include <string>

int main() {
    ekiden::thread_pool pool({.threads = 1, .name = "example"});
    std::string order; // only the single worker writes to it

    pool.pause();
    pool.get_executor(ekiden::priority::low).post([&order] { order += "low "; });
    pool.get_executor(ekiden::priority::normal).post([&order] { order += "normal "; });
    pool.get_executor(ekiden::priority::high).post([&order] { order += "high "; });
    pool.resume();
    pool.wait_idle();

    std::cout << order << '\n';
    return order == "high normal low " ? 0 : 1;
}
