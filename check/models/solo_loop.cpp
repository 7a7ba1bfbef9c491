// The loop of one thread: a post, a stop, the end of outstanding work and an alarm, each against its sleep,
// its decision that nothing is left, and its end.
#include <check/engine/model.hpp>
#include <ekiden/loop/detail/solo_loop.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace solo_loop_models {

using namespace ekiden;

namespace {

/// A task that calls a function with itself, and is not freed.
class plain_task final : public task {
public:
    using function = void (*)(plain_task& self);

    plain_task(function f, void* argument) : task(&answer), argument(argument), f_(f) {}

    void* const argument;

private:
    static const char* answer(task* self, task_request request) {
        auto* const here = static_cast<plain_task*>(self);
        if (request == task_request::run) here->f_(*here);
        return nullptr;
    }
    function f_;
};

/// Adds one to a cell: a race is seen.
class adding_task {
public:
    explicit adding_task(sys::cell<int>& sum) : task_(add, &sum) {}
    [[nodiscard]] task* get() noexcept { return &task_; }

private:
    static void add(plain_task& self) {
        auto& sum = *static_cast<sys::cell<int>*>(self.argument);
        sum.write(sum.read() + 1);
    }
    plain_task task_;
};

} // namespace

/// The loads that only decide whether to look closer are hints, so load buffering is not reported. One
/// processor: the loop does not look for a while before it sleeps.
#define LOOP_MODEL(name, ...) EKIDEN_MODEL(name, .load_buffering = false, __VA_ARGS__, .processors = 1)

LOOP_MODEL(solo_post_against_sleep, .about = "a post and the end of work against the sleep of the one thread",
           .preemptions = 3, .spurious = 1, .timeouts = 0) {
    solo_loop loop(nullptr);
    sys::cell<int> sum(0);
    adding_task added(sum);
    loop.work_started();
    sys::thread poster([&] {
        loop.push(added.get());
        loop.work_finished();
    });
    check::that(loop.run({}) == 1, "the task was run");
    check::that(sum.read() == 1 && loop.is_stopped(), "and then the context had no work");
    poster.join();
}

LOOP_MODEL(solo_two_posters, .about = "two threads post while the one sleeps; each ends its work",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    solo_loop loop(nullptr);
    sys::cell<int> sum(0);
    adding_task one(sum);
    adding_task two(sum);
    loop.work_started();
    loop.work_started();
    const auto post = [&loop](adding_task& added) {
        loop.push(added.get());
        loop.work_finished();
    };
    sys::thread first([&] { post(one); });
    sys::thread second([&] { post(two); });
    check::that(loop.run({}) == 2, "both tasks were run");
    check::that(sum.read() == 2, "one after the other");
    first.join();
    second.join();
}

LOOP_MODEL(solo_post_against_the_decision,
           .about = "a task that was posted before the context ran out of work is run", .preemptions = 4,
           .spurious = 0, .timeouts = 0) {
    solo_loop loop(nullptr);
    sys::cell<int> sum(0);
    adding_task added(sum);
    bool was_running = false;
    sys::thread poster([&] {
        loop.push(added.get());
        was_running = !loop.is_stopped();
    });
    const std::size_t count = loop.run({});
    check::that(loop.is_stopped(), "no work is left");
    poster.join();
    check::that(count == 1 || !was_running, "posted in time");
    loop.restart();
    check::that(loop.run({}) + count == 1, "otherwise it waits for the next run");
}

LOOP_MODEL(solo_stop_against_sleep, .about = "a stop against a post and the sleep", .preemptions = 3,
           .spurious = 0, .timeouts = 0) {
    solo_loop loop(nullptr);
    sys::cell<int> sum(0);
    sys::cell<int> before_stop(0);
    adding_task added(sum);
    loop.work_started();
    sys::thread poster([&] { loop.push(added.get()); });
    sys::thread stopper([&] {
        before_stop.write(1);
        loop.stop();
    });
    const std::size_t count = loop.run({});
    check::that(loop.is_stopped() && before_stop.read() == 1, "what came before the stop is visible");
    poster.join();
    stopper.join();
    loop.restart();
    check::that(count + loop.run({.waits = false}) == 1, "the queue has kept the task");
    loop.work_finished();
}

LOOP_MODEL(solo_end_after_run,
           .about = "the context ends when its last task and its work are over, though those "
                    "that brought them have not returned",
           .preemptions = 3, .spurious = 0, .timeouts = 0) {
    auto loop = std::make_unique<solo_loop>(nullptr);
    sys::cell<int> sum(0);
    adding_task added(sum);
    loop->work_started();
    const bool stops = check::choose(2) == 1;
    sys::thread worker([&added, stops, at = loop.get()] {
        if (!stops) at->push(added.get());
        if (stops)
            at->stop();
        else
            at->work_finished();
    });
    check::that(loop->run({}) == (stops ? 0 : 1), "run");
    loop.reset();
    worker.join();
}

LOOP_MODEL(solo_task_ends_the_loop,
           .about = "the loop may end when its task has run, though push has not returned", .preemptions = 3,
           .spurious = 0, .timeouts = 0) {
    auto loop = std::make_unique<solo_loop>(nullptr);
    loop->work_started();
    plain_task stops([](plain_task& self) { static_cast<solo_loop*>(self.argument)->stop(); }, loop.get());
    sys::thread poster([&stops, at = loop.get()] { at->push(&stops); });
    sys::thread looker([at = loop.get()] { at->look_again(); }); // ends the sleep without a task
    check::that(loop->run({}) == 1, "run");
    looker.join();
    loop.reset();
    poster.join();
}

LOOP_MODEL(solo_poll_against_post,
           .about = "a poll finds what its own thread has posted, behind others' posts", .preemptions = 3,
           .spurious = 0, .timeouts = 0) {
    solo_loop loop(nullptr);
    sys::cell<int> sum(0);
    adding_task theirs(sum);
    adding_task ours(sum);
    loop.work_started();
    check::that(loop.run({.waits = false}) == 0, "nothing yet");
    sys::thread poster([&] { loop.push(theirs.get()); });
    loop.push(ours.get());
    const std::size_t count = loop.run({.waits = false});
    check::that(count != 0, "its own");
    poster.join();
    check::that(count + loop.run({.waits = false}) == 2, "and the other one");
    check::that(!loop.is_stopped(), "there is outstanding work");
    loop.work_finished();
}

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// Rings once; ends the work that it was.
class one_alarm final : public alarm_clock {
public:
    explicit one_alarm(solo_loop& loop) : loop_(loop) {}
    void set() { next_.store(0, sys::release); }
    [[nodiscard]] std::int64_t next_ns() const noexcept override { return next_.load(sys::acquire); }
    void ring() noexcept override {
        next_.store(never, sys::relaxed);
        ++rings;
        loop_.work_finished();
    }
    int rings = 0;

private:
    solo_loop& loop_;
    sys::atomic<std::int64_t> next_{never};
};

} // namespace

LOOP_MODEL(solo_alarm_against_sleep, .about = "an alarm that is set while the thread goes to sleep is rung",
           .preemptions = 3, .spurious = 0, .timeouts = 0) {
    solo_loop loop(nullptr);
    one_alarm alarm(loop);
    check::that(loop.alarms().adopt(alarm), "adopted");
    loop.work_started();
    sys::thread setter([&] {
        alarm.set();
        loop.look_again();
    });
    check::that(loop.run({}) == 0, "no task");
    check::that(alarm.rings == 1, "rung once");
    setter.join();
}

LOOP_MODEL(solo_alarm_adopted, .about = "an alarm clock that comes while the loop runs is seen whole",
           .preemptions = 2, .spurious = 0, .timeouts = 0) {
    solo_loop loop(nullptr);
    std::unique_ptr<one_alarm> alarm;
    loop.work_started();
    sys::thread setter([&] {
        alarm = std::make_unique<one_alarm>(loop);
        check::that(loop.alarms().adopt(*alarm), "adopted");
        alarm->set();
        loop.look_again();
    });
    check::that(loop.run({}) == 0, "no task");
    setter.join();
    check::that(alarm->rings == 1, "rung once");
}

LOOP_MODEL(solo_handed_over, .about = "a thread that runs the loop when another has left sees what that did",
           .preemptions = 3, .spurious = 0, .timeouts = 0) {
    struct place {
        solo_loop loop{nullptr};
        sys::cell<int> written{0};
        sys::atomic<bool> is_inside{false};
    } here;
    plain_task task(
        [](plain_task& self) {
            auto& at = *static_cast<place*>(self.argument);
            at.is_inside.store(true, sys::release);
            at.loop.stop();
            at.written.write(1); // after all that the other one acquires but for the thread's end in there
        },
        &here);
    here.loop.push(&task);
    sys::thread first([&here] { (void)here.loop.run({}); });
    while (!here.is_inside.load(sys::acquire)) sys::yield();
    while (!here.loop.is_empty()) sys::yield();
    check::that(here.loop.run({}) == 0, "it has stopped");
    check::that(here.written.read() == 1, "the write");
    first.join();
}

namespace {

/// A loop whose first task posts one of its own, and a task of another thread.
struct two_ways {
    solo_loop loop{nullptr};
    sys::atomic<int> posted{0}; // how many, one after the other
    std::vector<char> ran;      // only the checker's one real thread runs
    plain_task own{[](plain_task& self) { of(self).ran.push_back('o'); }, this};
    plain_task other{[](plain_task& self) { of(self).ran.push_back('t'); }, this};
    bool own_was_second = false;
    plain_task first{[](plain_task& self) {
                         two_ways& at = of(self);
                         at.own_was_second = at.posted.load(sys::acquire) != 0;
                         at.loop.push(&at.own);
                         at.posted.fetch_add(1, sys::release);
                     },
                     this};

    static two_ways& of(plain_task& self) { return *static_cast<two_ways*>(self.argument); }
};

} // namespace

LOOP_MODEL(solo_own_and_others,
           .about = "what the thread posts to itself keeps its place among the posts of others",
           .preemptions = 3, .spurious = 0, .timeouts = 0) {
    two_ways here;
    here.loop.work_started();
    here.loop.push(&here.first);
    bool other_was_second = false;
    sys::thread poster([&] {
        other_was_second = here.posted.load(sys::acquire) != 0;
        here.loop.push(&here.other);
        here.posted.fetch_add(1, sys::release);
        here.loop.work_finished();
    });
    check::that(here.loop.run({}) == 3, "all three were run");
    poster.join();
    check::that(here.ran.size() == 2, "once each");
    if (here.own_was_second) check::that(here.ran.front() == 't', "the other one was posted before");
    if (other_was_second) check::that(here.ran.front() == 'o', "its own was posted before");
}

LOOP_MODEL(solo_own_left_behind,
           .about = "the next thread that runs the loop finds what the last one has posted to itself",
           .preemptions = 3, .spurious = 0, .timeouts = 0) {
    two_ways here;
    here.loop.push(&here.first);
    sys::thread before([&here] { check::that(here.loop.run({.most = 1}) == 1, "the first one"); });
    while (here.posted.load(sys::acquire) == 0) sys::yield();
    while (!here.loop.is_empty()) sys::yield();
    check::that(here.loop.run({}) == 1 && here.ran.size() == 1, "its own");
    before.join();
}

#undef LOOP_MODEL

} // namespace solo_loop_models
