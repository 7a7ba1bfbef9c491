// What a pool says of its threads while it runs: to a live view, and to Prometheus.
#include "../observe/shown_lines.hpp"

#include <ekiden/future/promise.hpp>
#include <ekiden/observe/live_view.hpp>
#include <ekiden/pool/add_metrics.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <string>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::shown_lines;

TEST_CASE("a view shows threads that sleep, work, wait for a result and block") {
    shown_lines shown;
    promise<void> elsewhere;
    future<void> result = elsewhere.get_future();
    std::latch may_end(1);
    std::latch may_unblock(1);
    thread_pool pool({.threads = 1});
    const live_view view(pool, shown.options());
    CHECK(shown.wait_for(".").running == 0);
    pool.post([&] { may_end.wait(); });
    CHECK(shown.wait_for("#").running == 1);
    CHECK(pool.metrics().threads_at_work == 1);
    may_end.count_down();
    shown.wait_for(".");
    CHECK(pool.metrics().threads_at_work == 0);
    pool.post([&] { result.get(); });
    CHECK(shown.wait_for("w").running == 1);
    elsewhere.set_value();
    shown.wait_for(".");
    pool.post([&] {
        const blocking_region here("the test");
        may_unblock.wait();
    });
    CHECK(shown.wait_for("b").running == 1);
    may_unblock.count_down();
    shown.wait_for(".");
}

TEST_CASE("a thread of a paused pool that has taken a task shows so, and the pool's end is harmless") {
    shown_lines shown;
    std::latch has_begun(1);
    std::latch may_end(1);
    thread_pool pool({.threads = 1, .name = "paused"});
    const live_view view(pool, shown.options());
    pool.post([&] {
        has_begun.count_down();
        may_end.wait();
    });
    pool.post([] {});
    has_begun.wait();
    pool.pause();
    may_end.count_down();
    CHECK(shown.wait_for("p").running == 0);
    pool.resume();
    shown.wait_for(".");
    pool.stop();
    pool.join();
    CHECK(shown.wait_for(" ").running == 0);
}

TEST_CASE("a view of a pool that grows and shrinks gets columns as threads come") {
    shown_lines shown;
    std::latch may_end(1);
    thread_pool pool({.threads = 1, .max_threads = 4, .keep_alive = 0ms});
    const live_view view(pool, shown.options());
    shown.wait_for(".");
    for (int i = 0; i != 3; ++i) {
        pool.post([&] {
            const blocking_region here("the test");
            may_end.wait();
        });
    }
    shown.wait_for([](const live_line& line) {
        return std::count(line.columns.begin(), line.columns.end(), 'b') == 3 && line.running >= 3;
    });
    may_end.count_down();
    const live_line settled = shown.wait_for([](const live_line& line) {
        return std::count(line.columns.begin(), line.columns.end(), '.') == 1
               && line.columns.find_first_not_of(" .") == std::string::npos;
    });
    CHECK(settled.columns.size() >= 3); // the places of those that have ended stay
}

TEST_CASE("a thread that ends while it stands by leaves its column blank") {
    shown_lines shown;
    std::latch may_unblock(1);
    std::latch may_end(1);
    thread_pool pool({.threads = 1, .max_threads = 3, .keep_alive = 0ms});
    const live_view view(pool, shown.options());
    const auto has = [](const live_line& line, std::ptrdiff_t count, char sign) {
        return std::count(line.columns.begin(), line.columns.end(), sign) == count;
    };
    for (int i = 0; i != 2; ++i) {
        pool.post([&] {
            {
                const blocking_region here("the test");
                may_unblock.wait();
            }
            may_end.wait();
        });
    }
    shown.wait_for([&](const live_line& line) { return has(line, 2, 'b') && has(line, 1, '.'); });
    may_unblock.count_down();
    shown.wait_for([&](const live_line& line) { return has(line, 2, '#') && has(line, 1, '.'); });
    pool.post([] {}); // wakes the third thread, which is one too many
    shown.wait_for([&](const live_line& line) { return has(line, 2, '#') && has(line, 1, ' '); });
    may_end.count_down();
}

TEST_CASE("a pool's metrics are a page for Prometheus, and so are those of two") {
    thread_pool first({.threads = 2});
    thread_pool second({.threads = 1});
    for (int i = 0; i != 128; ++i) first.post([] {});
    first.wait_idle();
    const thread_pool_metrics of_first = first.metrics();
    prometheus_page page;
    add_metrics(page, of_first, "first");
    add_metrics(page, second.metrics(), "a \"second\"");
    const std::string text = page.text();
    CHECK(text.starts_with("# HELP ekiden_pool_threads Threads.\n# TYPE ekiden_pool_threads gauge\n"
                           "ekiden_pool_threads{pool=\"first\"} 2\n"
                           "ekiden_pool_threads{pool=\"a \\\"second\\\"\"} 1\n"));
    CHECK(text.find("\nekiden_pool_tasks_run_total{pool=\"first\"} 128\n"
                    "ekiden_pool_tasks_run_total{pool=\"a \\\"second\\\"\"} 0\n")
          != text.npos);
    CHECK(of_first.queue_delay.total() == 2);
    CHECK(of_first.queue_delay.sum_ns > 0);
    CHECK(text.find("\nekiden_pool_queue_delay_seconds_count{pool=\"first\"} 2\n") != text.npos);
}
