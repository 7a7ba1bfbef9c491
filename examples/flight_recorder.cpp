/// Reports slow tasks, stalls and long delays in the queues, and saves what the threads have done before.
#include <ekiden/observe.hpp>
#include <ekiden/pool.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>

using namespace std::chrono_literals;

int main() {
    const auto folder = std::filesystem::temp_directory_path().string();
    ekiden::flight_recorder recorder({.folder = folder, .name = "example", .pause = 1min});
    std::atomic<int> reports{0};
    const auto show = [&](const ekiden::slow_task_report& report) {
        std::cerr << report.text() << recorder.save("slow task") << '\n';
        ++reports;
    };
    ekiden::thread_pool pool({.threads = 2,
                              .on_stall = [&](const auto&) { (void)recorder.save("stall"); },
                              .slow_task_time = 20ms,
                              .on_slow_task = show,
                              .queue_delay_limit = 1s,
                              .on_queue_delay = [&](auto) { (void)recorder.save("queue delay"); }});
    pool.post([] { std::this_thread::sleep_for(200ms); });
    pool.join();
    std::filesystem::remove(folder + "/example-0-slow-task.json");
    return reports == 1 && recorder.saved() == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
