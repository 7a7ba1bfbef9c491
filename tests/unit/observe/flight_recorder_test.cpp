// The flight recorder: the last events are in a file after each trigger, and older ones are not.
#include <ekiden/observe/flight_recorder.hpp>
#include <ekiden/sys/thread.hpp>

#include <tests/unit/child_process.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace flight_recorders {
namespace {

using namespace std::chrono_literals;
using ekiden::flight_recorder;

/// A folder that is deleted with this object.
struct temporary_folder {
    std::string path;

    temporary_folder() {
        const auto all = std::filesystem::temp_directory_path();
        do {
            path = (all / ("ekiden-flight-" + std::to_string(std::random_device()()))).string();
        } while (!std::filesystem::create_directory(path));
    }
    ~temporary_folder() { std::filesystem::remove_all(path); }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& one : std::filesystem::directory_iterator(path)) {
            names.push_back(one.path().filename().string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }
};

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The text of a whole file is an array.
bool is_whole(const std::string& text) { return text.starts_with("[") && text.ends_with("]\n"); }

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("A file contains the events of the last time, and not the older ones") {
    const temporary_folder folder;
    flight_recorder recorder({.folder = folder.path, .length = 300ms, .pause = 0ms});
    ekiden::trace::mark("long ago");
    std::this_thread::sleep_for(400ms);
    ekiden::trace::mark("just now");
    const std::string path = recorder.save("slow task: x");
    CHECK(path == folder.path + "/flight-0-slow-task--x.json");
    const std::string text = text_of(path);
    CHECK(has(text, "just now"));
    CHECK(!has(text, "long ago"));
    CHECK(is_whole(text));
    CHECK(recorder.saved() == 1);
    CHECK(folder.files() == std::vector<std::string>{"flight-0-slow-task--x.json"});
}

TEST_CASE("The newest files stay, and no file is saved in the pause after another one") {
    const temporary_folder folder;
    {
        flight_recorder recorder({.folder = folder.path, .name = "f", .pause = 0ms, .most_files = 2});
        for (int i = 0; i != 5; ++i) CHECK(!recorder.save("call").empty());
        CHECK(folder.files() == std::vector<std::string>{"f-3-call.json", "f-4-call.json"});
    }
    flight_recorder recorder({.folder = folder.path, .name = "g", .pause = 1h});
    CHECK(!recorder.save("call").empty());
    CHECK(recorder.save("call").empty());
    CHECK(recorder.saved() == 1);
}

TEST_CASE("A recorder without its folder saves nothing, and recovers") {
    const temporary_folder folder;
    flight_recorder recorder({.folder = folder.path + "/later", .pause = 1h});
    CHECK(recorder.save("call").empty());
    CHECK(recorder.saved() == 0);
    std::filesystem::create_directory(folder.path + "/later");
    CHECK(!recorder.save("call").empty()); // the failure began no pause
}

TEST_CASE("The length may be without bounds, and a long trigger is cut") {
    const temporary_folder folder;
    flight_recorder recorder(
        {.folder = folder.path, .length = std::chrono::milliseconds::max(), .pause = 0ms});
    ekiden::trace::mark("just now");
    CHECK(recorder.save(std::string(1000, 'x'))
          == folder.path + "/flight-0-" + std::string(100, 'x') + ".json");
    CHECK(has(text_of(recorder.save("x")), "just now"));
}

TEST_CASE("A signal saves a file") {
    EKIDEN_SKIP_ON_WINDOWS("there are no signals");
    const temporary_folder folder;
    for (int round = 0; round != 2; ++round) { // the second recorder finds the handler installed
        flight_recorder recorder(
            {.folder = folder.path, .name = "r" + std::to_string(round), .pause = 0ms, .signal = SIGUSR1});
        ekiden::trace::mark("before the signal");
        (void)::raise(SIGUSR1);
        const auto end = std::chrono::steady_clock::now() + 1min;
        while (recorder.saved() == 0 && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(1ms);
        REQUIRE(recorder.saved() == 1);
        const std::string path = folder.path + "/r" + std::to_string(round) + "-0-signal.json";
        CHECK(has(text_of(path), "before the signal"));
    }
}

TEST_CASE("A recorder refuses options that it cannot serve") {
    CHECK_THROWS_AS(flight_recorder({.length = 0ms}), std::invalid_argument);
    CHECK_THROWS_AS(flight_recorder({.pause = -1ms}), std::invalid_argument);
    CHECK_THROWS_AS(flight_recorder({.most_files = 0}), std::invalid_argument);
    CHECK_THROWS_AS(flight_recorder({.signal = SIGKILL}), std::invalid_argument);
    CHECK_THROWS_AS(flight_recorder({.signal = -1}), std::invalid_argument);
    CHECK(!ekiden::trace::is_on()); // a recorder that was not made has started no trace
}

TEST_CASE("Threads that save at the same time leave whole files") {
    const temporary_folder folder;
    flight_recorder recorder({.folder = folder.path, .pause = 0ms, .most_files = 3});
    std::atomic<int> written{0};
    std::vector<std::thread> threads;
    for (int t = 0; t != 3; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i != 5; ++i) {
                ekiden::trace::mark("mark");
                if (!recorder.save("call").empty()) ++written;
            }
        });
    }
    for (std::thread& t : threads) t.join();
    CHECK(written == 15);
    CHECK(recorder.saved() == 15);
    CHECK(folder.files().size() == 3);
    for (const std::string& name : folder.files()) CHECK(is_whole(text_of(folder.path + "/" + name)));
}

TEST_CASE("In the child of a fork, a recorder saves nothing") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    const temporary_folder folder;
    flight_recorder recorder({.folder = folder.path, .pause = 0ms, .signal = SIGUSR1});
    const auto child = ekiden_test::run_in_child([&] { std::exit(recorder.save("call").empty() ? 7 : 8); });
    CHECK(child.exit_code == 7);
    CHECK(folder.files().empty());
}

TEST_CASE("take() with a time returns the events since then, with their times since then") {
    ekiden::trace::start();
    ekiden::trace::mark("early");
    std::this_thread::sleep_for(300ms);
    ekiden::trace::mark("late");
    const auto newest = ekiden::trace::take(200ms);
    const auto all = ekiden::trace::take(1h);
    ekiden::trace::stop();
    CHECK(newest.length >= 199'000'000);
    CHECK(newest.length <= 201'000'000);
    const auto count = [](const ekiden::trace::snapshot& shot, std::string_view name) {
        int found = 0;
        for (const auto& track : shot.tracks) {
            for (const auto& event : track.events) {
                if (event.name == name) ++found;
                CHECK(event.begin >= 0);
                CHECK(event.end() <= shot.length);
            }
        }
        return found;
    };
    CHECK(count(newest, "late") == 1);
    CHECK(count(newest, "early") == 0);
    CHECK(count(all, "early") == 1);
    CHECK(all.length >= 300'000'000);
}

} // namespace flight_recorders
