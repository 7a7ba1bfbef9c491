// The events of a pool that trigger a flight recorder: a slow task, a stall, and a long delay in a queue.
// tests/unit/observe has the tests of the other triggers: a signal, and a call.
#include "../eventually.hpp"
#include <ekiden/observe/flight_recorder.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>

namespace recorder_triggers {
namespace {

using namespace ekiden;
using ekiden_test::eventually;
using namespace std::chrono_literals;

/// A recorder that saves one file, and a new folder for it.
class recording {
public:
    explicit recording(const char* trigger)
        : folder_(std::filesystem::temp_directory_path().string() + "/ekiden-trigger-"
                  + std::to_string(::getpid()) + "-" + trigger),
          trigger_(trigger), recorder_((std::filesystem::create_directory(folder_), options())) {}
    ~recording() { std::filesystem::remove_all(folder_); }
    recording(const recording&) = delete;
    recording& operator=(const recording&) = delete;

    void save() { (void)recorder_.save(trigger_); }
    [[nodiscard]] bool has_saved() const {
        return eventually([this] { return recorder_.saved() == 1; })
               && std::filesystem::file_size(folder_ + "/flight-0-" + trigger_ + ".json") > 0;
    }

private:
    [[nodiscard]] flight_recorder_options options() const { return {.folder = folder_, .pause = 1h}; }

    const std::string folder_;
    const std::string trigger_;
    flight_recorder recorder_;
};

} // namespace

TEST_CASE("A slow task triggers the recorder") {
    recording files("slow-task");
    std::atomic<bool> released{false};
    thread_pool pool({.threads = 1,
                      .watch_interval = 1ms,
                      .slow_task_time = 10ms,
                      .on_slow_task = [&](const slow_task_report&) { files.save(); }});
    pool.post([&] {
        while (!released) std::this_thread::sleep_for(1ms);
    });
    CHECK(files.has_saved());
    released = true;
}

TEST_CASE("A stall triggers the recorder") {
    recording files("stall");
    std::atomic<bool> released{false};
    thread_pool pool(
        {.threads = 1, .max_threads = 2, .watch_interval = 1ms, .on_stall = [&](const stall_report&) {
             files.save();
         }});
    for (int i = 0; i != 3; ++i) {
        pool.post([&] {
            block([&] {
                while (!released) std::this_thread::sleep_for(1ms);
            });
        });
    }
    CHECK(files.has_saved());
    released = true;
}

TEST_CASE("A long delay in a queue triggers the recorder") {
    recording files("queue-delay");
    thread_pool pool({.threads = 1,
                      .watch_interval = 1ms,
                      .queue_delay_limit = 20ms,
                      .on_queue_delay = [&](std::chrono::nanoseconds) { files.save(); }});
    // The pool measures every 64th task. The first task delays the others.
    pool.post([] { std::this_thread::sleep_for(100ms); });
    for (int i = 0; i != 200; ++i) pool.post([] {});
    CHECK(files.has_saved());
}

} // namespace recorder_triggers
