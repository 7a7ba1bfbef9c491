// The loop that several threads run: posts, the end of outstanding work, stops and alarms against the sleep
// of the threads, against their decision that no work is left, and against the end of the loop.
#include <check/engine/model.hpp>
#include <ekiden/loop/detail/shared_loop.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

namespace shared_loop_models {

using namespace ekiden;

namespace {

/// A task that calls a function and is not freed.
class called_task final : public task {
public:
    explicit called_task(std::function<void()> f) : task(&answer), f_(std::move(f)) {}

private:
    static const char* answer(task* self, task_request request) {
        if (request == task_request::run) static_cast<called_task*>(self)->f_();
        return nullptr;
    }
    const std::function<void()> f_;
};

/// A loop with operations that check their results.
struct loop : shared_loop {
    loop() : shared_loop(context_id::next()) {}

    void post(task& posted) { check::that(push(&posted, task_order::usual), "accepted"); }
    void defer(task& posted) { check::that(push(&posted, task_order::deferred), "accepted"); }
};

} // namespace

/// One processor: no thread spins for the lock.
#define LOOP_MODEL(name, ...) EKIDEN_MODEL(name, __VA_ARGS__, .spurious = 0, .timeouts = 0, .processors = 1)

LOOP_MODEL(shared_post_against_sleep, .about = "a post and the end of work, against one thread's sleep",
           .preemptions = 3) {
    loop all;
    sys::cell<int> ran(0);
    sys::cell<int> ended(0);
    called_task posted([&] { ran.write(1); });
    all.work_started();
    sys::thread poster([&] {
        all.post(posted);
        ended.write(1);
        all.work_finished();
    });
    check::that(all.run({}) == 1, "done");
    check::that(ran.read() + ended.read() == 2, "and visible");
    poster.join();
}

LOOP_MODEL(shared_two_fall_idle, .old_values = 1,
           .about = "two threads find out together that no work is left", .preemptions = 2) {
    loop all;
    sys::cell<int> sum(0);
    called_task posted([&] { sum.write(sum.read() + 1); });
    all.post(posted);
    sys::thread other([&] {
        (void)all.run({});
        check::that(all.is_stopped() && sum.read() == 1, "stopped after the task");
    });
    (void)all.run({});
    check::that(all.is_stopped() && sum.read() == 1, "stopped after the task");
    other.join();
}

LOOP_MODEL(shared_task_posts, .old_values = 1,
           .about = "a thread stays while the task of another may still post", .preemptions = 2) {
    loop all;
    called_task second([] {});
    called_task first([&] { all.post(second); });
    std::size_t other_count = 0;
    all.post(first);
    sys::thread other([&] { other_count = all.run({}); });
    const std::size_t count = all.run({});
    other.join();
    check::that(other_count + count == 2, "both were run");
}

LOOP_MODEL(shared_need_two, .old_values = 0, .about = "two tasks that wait for each other need two threads",
           .preemptions = 2) {
    loop all;
    sys::atomic<int> met{0};
    const auto meet = [&] {
        met.fetch_add(1, sys::acq_rel);
        while (met.load(sys::acquire) != 2) sys::yield();
    };
    called_task one(meet);
    called_task two(meet);
    all.work_started();
    sys::thread other([&] { (void)all.run({}); });
    sys::thread poster([&] {
        all.post(one);
        all.post(two);
        all.work_finished();
    });
    (void)all.run({});
    other.join();
    poster.join();
    check::that(met.load(sys::relaxed) == 2, "both");
}

LOOP_MODEL(shared_work_against_the_decision, .old_values = 1,
           .about = "outstanding work ends while two threads fall asleep", .preemptions = 2) {
    loop all;
    sys::cell<int> written(0);
    all.work_started();
    sys::thread elsewhere([&] {
        written.write(1);
        all.work_finished();
    });
    sys::thread other([&] { (void)all.run({}); });
    check::that(all.run({}) == 0 && written.read() == 1, "not before the work's end");
    other.join();
    elsewhere.join();
}

LOOP_MODEL(shared_post_against_the_decision, .about = "what was posted before the loop ran dry is run",
           .preemptions = 3) {
    loop all;
    called_task posted([] {});
    bool was_running = false;
    sys::thread poster([&] {
        all.post(posted);
        was_running = !all.is_stopped();
    });
    const std::size_t count = all.run({});
    check::that(all.is_stopped(), "no work is left");
    poster.join();
    check::that(count == 1 || !was_running, "posted in time");
    all.restart();
    check::that(all.run({}) + count == 1, "otherwise it waits for the next run");
}

LOOP_MODEL(shared_task_begins_work, .old_values = 0, .about = "a task that begins work keeps both threads",
           .preemptions = 1) {
    loop all;
    sys::cell<int> written(0);
    sys::thread worker;
    called_task begins([&] {
        all.work_started();
        worker = sys::thread([&] {
            written.write(1);
            all.work_finished();
        });
    });
    all.post(begins);
    sys::thread other([&] {
        (void)all.run({});
        check::that(written.read() == 1, "not before the work's end");
    });
    (void)all.run({});
    check::that(written.read() == 1, "not before the work's end");
    other.join();
    worker.join();
}

LOOP_MODEL(shared_stop, .old_values = 1, .about = "a stop against two sleeps", .preemptions = 2) {
    loop all;
    sys::cell<int> before(0);
    all.work_started();
    sys::thread stopper([&] {
        before.write(1);
        all.stop();
    });
    sys::thread other([&] { (void)all.run({}); });
    (void)all.run({});
    check::that(all.is_stopped() && before.read() == 1, "what came before the stop is visible");
    other.join();
    stopper.join();
    all.work_finished();
}

LOOP_MODEL(shared_stop_is_seen, .about = "a thread that sees the stop sees what came before it",
           .preemptions = 3) {
    loop all;
    sys::cell<int> before(0);
    const bool runs_dry = check::choose(2) == 1;
    called_task posted([&] { before.write(1); });
    if (runs_dry) all.post(posted);
    sys::thread stopper([&] {
        if (runs_dry) {
            (void)all.run({});
        } else {
            before.write(1);
            all.stop();
        }
    });
    if (all.is_stopped()) check::that(before.read() == 1, "visible");
    stopper.join();
}

LOOP_MODEL(shared_restart, .about = "a stop, a restart, and the task that was left", .preemptions = 2) {
    loop all;
    called_task posted([] {});
    all.work_started();
    sys::thread elsewhere([&] {
        all.post(posted);
        all.stop();
    });
    const std::size_t count = all.run({});
    elsewhere.join();
    all.restart();
    all.work_finished();
    check::that(count + all.run({}) == 1, "the task was kept");
    check::that(all.is_stopped(), "and then there is none");
}

LOOP_MODEL(shared_leave, .old_values = 1,
           .about = "a thread that leaves after one task wakes the other one for what it has deferred",
           .preemptions = 2) {
    loop all;
    called_task second([&] { all.work_finished(); });
    called_task first([&] { all.defer(second); });
    all.work_started();
    all.post(first);
    std::size_t other_count = 0;
    sys::thread other([&] { other_count = all.run({}); });
    const std::size_t count = all.run({.most = 1});
    other.join();
    check::that(other_count + count == 2 && all.is_stopped(), "both were run");
}

LOOP_MODEL(shared_deferred_need_two, .old_values = 0,
           .about = "two deferred tasks that wait for each other: the second one wakes a thread",
           .preemptions = 1) {
    loop all;
    sys::atomic<int> met{0};
    const auto meet = [&] {
        met.fetch_add(1, sys::acq_rel);
        while (met.load(sys::acquire) != 2) sys::yield();
    };
    called_task one(meet);
    called_task two(meet);
    called_task first([&] {
        all.defer(one);
        all.defer(two);
    });
    all.post(first);
    sys::thread other([&] { (void)all.run({}); });
    (void)all.run({});
    other.join();
    check::that(met.load(sys::relaxed) == 2, "both");
}

LOOP_MODEL(shared_announced, .old_values = 0,
           .about = "a task that waits for what it has deferred has another thread run that",
           .preemptions = 2) {
    loop all;
    sys::parker done;
    called_task second([&] { done.unpark(); });
    called_task first([&] {
        all.defer(second);
        const blocked_here waiting("the second");
        done.park();
    });
    all.post(first);
    sys::thread other([&] { (void)all.run({}); });
    (void)all.run({});
    other.join();
    check::that(all.is_stopped(), "both were run");
}

EKIDEN_MODEL(shared_wake_is_passed_on, .old_values = 0,
             .about = "a thread reaches its limit while it is woken: another one runs the task",
             .preemptions = 2, .spurious = 0, .timeouts = 1, .processors = 1) {
    loop all;
    called_task posted([&] { all.work_finished(); });
    all.work_started();
    const sys::clock::time_point soon = sys::clock::now() + std::chrono::microseconds(1);
    std::size_t limited_count = 0;
    sys::thread limited([&] { limited_count = all.run({.deadline = &soon}); });
    sys::thread poster([&] { all.post(posted); });
    const std::size_t count = all.run({});
    limited.join();
    poster.join();
    check::that(count + limited_count == 1 && all.is_stopped(), "run by one of them");
}

LOOP_MODEL(shared_last_task_throws, .old_values = 0,
           .about = "the last task throws: the thread that sleeps finds out that no work is left",
           .preemptions = 2) {
    loop all;
    called_task throws([] { throw 1; });
    all.post(throws);
    const auto run = [&] {
        try {
            (void)all.run({});
            return false;
        } catch (int) {
            return true;
        }
    };
    bool other_threw = false;
    sys::thread other([&] { other_threw = run(); });
    const bool has_thrown = run();
    other.join();
    check::that(other_threw != has_thrown, "in one of them");
    (void)all.run({.waits = false});
    check::that(all.is_stopped(), "the other one, or the next run, has stopped it");
}

LOOP_MODEL(shared_nested, .old_values = 0,
           .about = "a run inside a task, and a thread that sleeps meanwhile: both end at the stop",
           .preemptions = 2) {
    loop all;
    called_task stops([&] { all.stop(); });
    called_task outer([&] {
        all.defer(stops);
        (void)all.run({});
    });
    all.post(outer);
    sys::thread other([&] { (void)all.run({}); });
    (void)all.run({});
    other.join();
    check::that(all.is_stopped() && all.is_empty(), "both have left");
}

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// Fires once. Its firing posts a task and ends the work that it was.
class one_alarm final : public alarm_clock {
public:
    one_alarm(loop& loop, task& posted) : loop_(loop), posted_(posted) {
        check::that(loop_.alarms().adopt(*this), "adopted");
    }
    void set(std::int64_t when = 0) {
        next_.store(when, sys::release);
        loop_.alarm_moved();
    }
    [[nodiscard]] std::int64_t next_ns() const noexcept override { return next_.load(sys::acquire); }
    void ring() noexcept override {
        if (next_.exchange(never, sys::acq_rel) == never) return; // by another thread
        loop_.post(posted_);
        loop_.work_finished();
    }

private:
    loop& loop_;
    task& posted_;
    sys::atomic<std::int64_t> next_{never};
};

} // namespace

LOOP_MODEL(shared_alarm, .old_values = 1, .about = "an alarm that is set while the threads fall asleep fires",
           .preemptions = 2) {
    loop all;
    int fired = 0;
    called_task posted([&] { ++fired; });
    one_alarm alarm(all, posted);
    all.work_started();
    sys::thread setter([&] { alarm.set(); });
    sys::thread other([&] { (void)all.run({}); });
    (void)all.run({});
    setter.join();
    other.join();
    check::that(fired == 1, "once");
}

LOOP_MODEL(shared_alarm_adopted, .about = "an alarm clock that comes while the loop runs is seen whole",
           .preemptions = 2) {
    loop all;
    called_task posted([] {});
    std::unique_ptr<one_alarm> alarm;
    all.work_started();
    sys::thread setter([&] {
        alarm = std::make_unique<one_alarm>(all, posted);
        alarm->set();
    });
    check::that(all.run({}) == 1, "it has fired");
    setter.join();
}

LOOP_MODEL(shared_keeper_goes_to_work, .old_values = 0,
           .about =
               "the thread that waits for the alarm takes a task that lasts until the alarm: another thread "
               "replaces it",
           .preemptions = 1) {
    loop all;
    sys::atomic<bool> has_fired{false};
    called_task fired([&] { has_fired.store(true, sys::release); });
    one_alarm alarm(all, fired);
    const auto wait = [&] {
        while (!has_fired.load(sys::acquire)) sys::yield();
    };
    called_task second(wait);
    called_task first([&] {
        all.defer(second);
        alarm.set(); // a thread wakes for it, and takes the second task
        wait();
    });
    all.work_started(); // the alarm
    all.post(first);
    sys::thread one([&] { (void)all.run({}); });
    sys::thread two([&] { (void)all.run({}); });
    (void)all.run({});
    one.join();
    two.join();
    check::that(has_fired.load(sys::relaxed), "fired");
}

EKIDEN_MODEL(shared_keeper_leaves, .old_values = 0,
             .about = "the thread that waits for the alarm leaves at its own limit: another one replaces it",
             .preemptions = 2, .spurious = 0, .timeouts = 1, .processors = 1) {
    loop all;
    int fired = 0;
    called_task posted([&] { ++fired; });
    one_alarm alarm(all, posted);
    all.work_started();
    alarm.set(static_cast<std::int64_t>(sys::now_ns()) + 2'000);
    const sys::clock::time_point soon = sys::clock::now() + std::chrono::microseconds(1);
    sys::thread limited([&] { (void)all.run({.deadline = &soon}); });
    (void)all.run({});
    limited.join();
    check::that(fired == 1 && all.is_stopped(), "once");
}

LOOP_MODEL(shared_end, .about = "the loop is destroyed as soon as its work has ended or a stop was seen",
           .preemptions = 3) {
    auto all = std::make_unique<loop>();
    all->work_started();
    const bool stops = check::choose(2) == 1;
    sys::thread elsewhere([stops, at = all.get()] {
        if (stops)
            at->stop();
        else
            at->work_finished();
    });
    check::that(all->run({}) == 0, "no task");
    all.reset();
    elsewhere.join();
}

LOOP_MODEL(shared_task_ends_the_loop,
           .about = "the loop is destroyed when its task has run, though push has not returned",
           .preemptions = 3) {
    auto all = std::make_unique<loop>();
    all->work_started();
    called_task stops([at = all.get()] { at->stop(); });
    sys::thread poster([&stops, at = all.get()] { at->post(stops); });
    check::that(all->run({}) == 1, "run");
    all.reset();
    poster.join();
}

#undef LOOP_MODEL

} // namespace shared_loop_models
