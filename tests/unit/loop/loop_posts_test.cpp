// Posts to strands and lanes on a loop. A post from outside has two steps: it makes the strand busy, and then
// gives the drain to the loop.
#include <ekiden/execution/strand.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/loop/loop_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <thread>

using ekiden::loop_context;
using ekiden::loop_pool;
using namespace std::chrono_literals;

namespace {

const std::function<void()> nothing = [] {};

/// An executor of a loop that calls `before` and `after` whenever a thread outside of the loop gives a task
/// to the loop.
struct interrupted_executor : ekiden::task_sink<interrupted_executor> {
    interrupted_executor(const loop_context::executor_type& loop, const std::function<void()>& first,
                         const std::function<void()>& last = nothing)
        : inner(loop), before(&first), after(&last) {}

    [[nodiscard]] loop_context& context() const noexcept { return inner.context(); }
    void on_work_started() const noexcept { inner.on_work_started(); }
    void on_work_finished() const noexcept { inner.on_work_finished(); }
    bool accept(ekiden::task* given, ekiden::task_order order) const {
        if (inner.running_in_this_thread()) return ekiden::accept_task(inner, given, order);
        const std::function<void()>& last = *after; // the task may destroy this object
        (*before)();
        const bool is_accepted = ekiden::accept_task(inner, given, order);
        last();
        return is_accepted;
    }
    [[nodiscard]] bool running_in_this_thread() const noexcept { return inner.running_in_this_thread(); }
    void report_unhandled(const char* type) const noexcept { inner.report_unhandled(type); }
    friend bool operator==(const interrupted_executor& a, const interrupted_executor& b) noexcept {
        return a.inner == b.inner;
    }

    loop_context::executor_type inner;
    const std::function<void()>* before;
    const std::function<void()>* after;
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

/// Abandons a function inside the post of another function. The destructor of the abandoned function calls
/// `at_end`. A request occupies the lane of both functions, and the shard of the lane is idle.
void abandon_in_a_post(const loop_context::executor_type& on, const std::function<void()>& at_end) {
    std::latch is_running(1);
    std::latch is_over(1);
    const ekiden::lanes<int, loop_context::executor_type> l(
        on, {.lane_capacity = 1, .policy = ekiden::when_full::drop_oldest, .shards = 2});
    CHECK(l.post({1, 2}, [&] {
        is_running.count_down();
        is_over.wait();
    }));
    is_running.wait();
    const auto end = [&](void*) {
        is_over.count_down();
        at_end();
    };
    CHECK(l.post(2, [w = std::shared_ptr<void>(nullptr, end)] {}));
    CHECK(l.post(2, [] {}));
}

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

TEST_CASE("A loop that a function of a strand has stopped is destroyed after the post of the function") {
    for (const int hint : {1, 2}) {
        CAPTURE(hint);
        std::latch is_stopped(1);
        std::atomic<bool> is_posted{false};
        const std::function<void()> after = [&] {
            is_stopped.wait();
            std::this_thread::sleep_for(20ms);
            is_posted = true;
        };
        auto loop = std::make_unique<loop_context>(hint);
        loop->get_executor().on_work_started();
        const loop_strand serial{interrupted_executor(loop->get_executor(), nothing, after)};
        std::thread outside([&] { CHECK(serial.post([&loop] { loop->stop(); })); });
        CHECK(loop->run() == 1);
        is_stopped.count_down();
        loop.reset();
        CHECK(is_posted);
        outside.join();
    }
}

TEST_CASE("The destructor of a function that is abandoned inside a post may wait for the loop") {
    loop_context loop;
    loop.get_executor().on_work_started();
    std::thread runner([&] { loop.run(); });
    bool is_stopped = false;
    abandon_in_a_post(loop.get_executor(), [&] {
        std::barrier both(2); // this thread and the other thread run one of the tasks each
        for (int i = 0; i != 2; ++i) {
            loop.get_executor().post([&] {
                both.arrive_and_wait();
                (void)loop.run_one_for(1ms); // a wait inside the other wait
            });
        }
        loop.get_executor().on_work_finished();
        loop.run_for(5s);
        is_stopped = loop.is_stopped();
    });
    CHECK(is_stopped);
    loop.stop();
    runner.join();

    loop_pool loops({.threads = 2});
    bool is_joined = false;
    abandon_in_a_post(loops.get_executor(1), [&] { is_joined = loops.join_for(5s); });
    CHECK(is_joined);
}
