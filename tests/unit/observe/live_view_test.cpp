// A view of tasks on threads of the test. tests/unit/pool tests a view of a pool's threads.
#include "../child_process.hpp"
#include "shown_lines.hpp"
#include <tests/unit/posix.hpp>

#include <ekiden/observe/live_view.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace ekiden;
using ekiden_test::shown_lines;

TEST_CASE("each column shows the thread that runs its task, and the end of the task") {
    shown_lines shown;
    std::optional<live_view> view(std::in_place, 3, shown.options());
    CHECK(shown.wait_for("   ").running == 0);
    {
        const live_view::task here(*view, 1);
        CHECK(shown.wait_for(" 0 ").running == 1);
        std::latch may_end(1);
        std::thread other([&] {
            const live_view::task there(*view, 2);
            may_end.wait();
        });
        CHECK(shown.wait_for(" 01").running == 2);
        may_end.count_down();
        other.join();
        shown.wait_for(" 0.");
        const live_view::task again(*view, 2); // runs on the first thread
        shown.wait_for(" 00");
    }
    CHECK(view->threads() == 2);
    view.reset();
    const live_line last_line = shown.all().back();
    CHECK(last_line.columns == " ..");
    CHECK(last_line.running == 0);
    CHECK(last_line.seconds >= shown.all().front().seconds);
}

TEST_CASE("more threads than characters begin again with the first ones") {
    shown_lines shown;
    constexpr std::size_t count = live_view::letters.size() + 2;
    live_view view(count, shown.options());
    std::latch may_end(1);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i != count; ++i) {
        std::latch has_begun(1);
        threads.emplace_back([&, i] {
            const live_view::task here(view, i);
            has_begun.count_down();
            may_end.wait();
        });
        has_begun.wait();
    }
    const std::string all_letters = std::string(live_view::letters) + "01";
    const live_line line = shown.wait_for(all_letters);
    CHECK(line.running == count);
    CHECK(view.threads() == count);
    may_end.count_down();
    for (std::thread& one : threads) one.join();
}

TEST_CASE("a view without a reader prints to standard error, its last line when it ends") {
    const auto child = ekiden_test::run_in_child([] {
        live_view view(2, {.interval = std::chrono::hours(1)});
        const live_view::task here(view, 0);
    });
    CHECK(child.exit_code == 0);
    CHECK(child.error_output.ends_with(" |. | 0\n"));
    CHECK(child.error_output.find('\n') + 1 == child.error_output.size());
}

TEST_CASE("in a forked child a view shows nothing, and ends") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    shown_lines shown;
    std::optional<live_view> view(std::in_place, 1, shown.options());
    shown.wait_for(" ");
    const auto child = ekiden_test::run_in_child([&] {
        {
            const live_view::task here(*view, 0);
        }
        const std::size_t threads = view->threads();
        view.reset();
        ::_exit(threads == 0 ? 42 : 1);
    });
    CHECK(child.exit_code == 42);
    shown.wait_for(" ");
}

TEST_CASE("bad columns and intervals are refused") {
    live_view view(2, {.show = [](const live_line&) {}});
    const auto enter_third = [&view] { const live_view::task here(view, 2); };
    CHECK_THROWS_WITH_AS(enter_third(), "ekiden: live_view: column is 2; there are 2", std::out_of_range);
    CHECK_THROWS_WITH_AS(live_view(1, {.interval = std::chrono::milliseconds(0)}),
                         "live_view: interval is 0 ms, allowed is 1 ms or more", std::invalid_argument);
}

TEST_CASE("with an interval without end a view shows its last line alone") {
    shown_lines shown;
    auto options = shown.options();
    options.interval = std::chrono::milliseconds::max();
    std::atomic<int> lines{0};
    options.show = [&lines](const ekiden::live_line&) { ++lines; };
    {
        const live_view view(1, options);
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // time for wrong lines to appear
    }
    CHECK(lines.load() <= 1);
}

TEST_CASE("a line as text") {
    CHECK(to_text({.seconds = 0.204, .columns = " 1.", .running = 1}) == "  0.20 | 1.| 1");
    CHECK(to_text({.seconds = 1234.5, .columns = "", .running = 0}) == "1234.50 || 0");
}
