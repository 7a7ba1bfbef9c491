// Records a program that uses all parts. Writes the trace to the given file, and prints as JSON how many
// events of each kind it has.
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/observe/chrome_trace.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

using namespace ekiden;
using namespace std::chrono_literals;

namespace {

void work() {
    static mutex shared;
    const trace::span here("work \"quoted\"");
    const std::lock_guard guard(shared);
    const auto until = std::chrono::steady_clock::now() + 20us;
    while (std::chrono::steady_clock::now() < until) {
    }
}

} // namespace

int main(int count, char** words) {
    if (count != 2) return EXIT_FAILURE;
    thread_pool pool({.threads = 2, .name = "traced"});
    trace::start();
    {
        lanes<int> keyed(pool.get_executor());
        strand one(pool.get_executor());
        steady_timer timer(pool, 1ms);
        timer.async_wait([](std::error_code) { trace::mark("fired", 1); });
        for (int i = 0; i != 500; ++i) {
            (void)keyed.post(i % 7, work);
            one.post(work);
            pool.post([&pool] {
                pool.post(work);
                pool.submit(work).get();
            });
        }
        co_spawn(
            pool.get_executor(),
            []() -> coroutine<> {
                for (int i = 0; i != 5; ++i) co_await ekiden::sleep_for(100us);
            },
            detached);
        std::this_thread::sleep_for(5ms);
        pool.wait_idle();
    }
    pool.join();
    trace::stop();
    const trace::snapshot shot = trace::take();
    std::array<std::size_t, 15> kinds{};
    std::size_t missing = shot.lost;
    for (const trace::track& t : shot.tracks) {
        missing += t.overwritten;
        for (const trace::event& e : t.events) ++kinds[static_cast<std::size_t>(e.kind)];
    }
    std::ofstream file(words[1]);
    write_chrome_trace(file, shot, {.most_lanes = 3});
    if (!file.flush()) return EXIT_FAILURE;
    std::cout << "{\"missing\":" << missing;
    static constexpr std::array names{"",          "task",    "queued",  "stolen", "parked",
                                      "woken",     "lock",    "granted", "turn",   "timer",
                                      "suspended", "resumed", "blocked", "span",   "mark"};
    for (std::size_t k = 1; k != kinds.size(); ++k) std::cout << ",\"" << names[k] << "\":" << kinds[k];
    std::cout << "}\n";
    return EXIT_SUCCESS;
}
