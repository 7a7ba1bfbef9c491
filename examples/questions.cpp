/// Answers to frequent questions as programs: names, hooks of threads, groups with failing tasks, stop
/// requests, the end of a pool.
#include <ekiden/fork.hpp>
#include <ekiden/pool.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>

using namespace std::chrono_literals;

namespace {

/// Debuggers show the only thread of this pool as images-0.
bool has_a_name() {
    ekiden::thread_pool pool({.threads = 1, .name = "images"});
    return pool.submit([] { return true; }).get();
}

/// Each thread calls a hook before its first task, and another hook after its last task.
bool sets_threads_up() {
    unsigned set_up = 0;
    ekiden::thread_pool pool({.threads = 1,
                              .on_thread_start = [&set_up](unsigned) { set_up += 1; },
                              .on_thread_stop = [&set_up](unsigned) { set_up -= 1; }});
    const unsigned in_a_task = pool.submit([&set_up] { return set_up; }).get();
    pool.join();
    return in_a_task == 1 && set_up == 0;
}

/// A pool that follows the number of processors that the process may use.
bool follows_the_processors() {
    ekiden::thread_pool pool({.follow_interval = 1s, .least_threads = 2, .upper_threads = 16});
    const unsigned now = pool.follow_processors();
    return now >= 2 && now <= 16 && pool.metrics().threads_wanted == now;
}

/// A running task is asked to stop. No other thread can force it.
bool ends_when_asked(ekiden::thread_pool& pool) {
    std::stop_source stop;
    std::atomic<bool> begun{false};
    auto count = pool.submit(stop.get_token(), [&begun](std::stop_token asked) {
        begun = true;
        long steps = 0;
        while (!asked.stop_requested()) ++steps;
        return steps;
    });
    while (!begun) {
    }
    stop.request_stop();
    return count.get() >= 0;
}

/// One of many tasks fails. The group drops the rest, and wait() throws the exception.
std::string first_failure(ekiden::thread_pool& pool) {
    ekiden::task_group group(pool, ekiden::on_error::stop_rest);
    for (int i = 0; i != 100; ++i) {
        group.spawn([i] {
            if (i == 7) throw std::runtime_error("file 7 is missing");
        });
    }
    try {
        group.wait();
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

/// The end of a pool: queued tasks run, or they are dropped.
int ran_at_the_end(bool drain) {
    int ran = 0;
    ekiden::thread_pool pool(1);
    pool.pause(); // all three tasks are then queued
    for (int i = 0; i != 3; ++i) pool.post([&ran] { ++ran; });
    if (!drain) pool.stop(); // drops the tasks that have not begun
    pool.join();             // like the destructor: runs the queued tasks
    return ran;
}

} // namespace

int main() {
    ekiden::thread_pool pool(2);
    const bool ended = ends_when_asked(pool) && has_a_name() && sets_threads_up() && follows_the_processors();
    const std::string failure = first_failure(pool);
    const int drained = ran_at_the_end(true);
    const int dropped = ran_at_the_end(false);
    std::cout << failure << "; " << drained << " and " << dropped << " tasks at the end\n";
    return ended && failure == "file 7 is missing" && drained == 3 && dropped == 0 ? EXIT_SUCCESS
                                                                                   : EXIT_FAILURE;
}
