// Posts to strands and lanes on a loop. A post from outside has two steps: it makes the strand busy, and then
// gives the drain to the loop.
#include <ekiden/execution/strand.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/loop/loop_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <thread>

using ekiden::loop_context;
using ekiden::loop_pool;
using namespace std::chrono_literals;

namespace {

/// An executor of a loop that calls `before` whenever a thread outside of the loop gives a task to the loop.
struct interrupted_executor : ekiden::task_sink<interrupted_executor> {
    interrupted_executor(const loop_context::executor_type& loop, const std::function<void()>& called)
        : inner(loop), before(&called) {}

    [[nodiscard]] loop_context& context() const noexcept { return inner.context(); }
    void on_work_started() const noexcept { inner.on_work_started(); }
    void on_work_finished() const noexcept { inner.on_work_finished(); }
    bool accept(ekiden::task* given, ekiden::task_order order) const {
        if (!inner.running_in_this_thread()) (*before)();
        return ekiden::accept_task(inner, given, order);
    }
    [[nodiscard]] bool running_in_this_thread() const noexcept { return inner.running_in_this_thread(); }
    void report_unhandled(const char* type) const noexcept { inner.report_unhandled(type); }
    friend bool operator==(const interrupted_executor& a, const interrupted_executor& b) noexcept {
        return a.inner == b.inner;
    }

    loop_context::executor_type inner;
    const std::function<void()>* before;
};

/// Lanes that are used like a strand.
struct one_lane {
    explicit one_lane(const interrupted_executor& inner) : of(inner, {.shards = 1}) {}
    template <class F>
    bool post(F f) const {
        return of.post(1, f);
    }
    ekiden::lanes<int, interrupted_executor> of;
};
using loop_strand = ekiden::strand<interrupted_executor>;

} // namespace

TEST_CASE_TEMPLATE("run() of a loop waits for a post from outside, behind which another function waits",
                   Serial, loop_strand, one_lane) {
    for (const int hint : {1, 2}) {
        CAPTURE(hint);
        std::latch is_between(1);
        const std::function<void()> before = [&] {
            is_between.count_down();
            std::this_thread::sleep_for(50ms);
        };
        loop_context loop(hint);
        const Serial serial{interrupted_executor(loop.get_executor(), before)};
        std::thread outside([&] { CHECK(serial.post([] {})); });
        is_between.wait();
        bool has_run = false;
        CHECK(serial.post([&] { has_run = true; }));
        CHECK(loop.run() != 0);
        CHECK(has_run);
        outside.join();
    }
}

TEST_CASE_TEMPLATE("join() of a loop_pool waits for a post from outside, behind which another function waits",
                   Serial, loop_strand, one_lane) {
    std::latch is_between(1);
    const std::function<void()> before = [&] {
        is_between.count_down();
        std::this_thread::sleep_for(50ms);
    };
    loop_pool loops({.threads = 2});
    const Serial serial{interrupted_executor(loops.get_executor(1), before)};
    std::thread outside([&] { CHECK(serial.post([] {})); });
    is_between.wait();
    bool has_run = false;
    CHECK(serial.post([&] { has_run = true; }));
    loops.join();
    CHECK(has_run);
    outside.join();
}
