// The loop of one thread with a source of events: its wait outside, which others interrupt, against a post, a
// stop, the end of outstanding work, the arrival of the source, and the end of both.
#include <check/engine/model.hpp>
#include <ekiden/loop/detail/solo_loop.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <memory>

namespace solo_loop_events_models {

using namespace ekiden;

namespace {

/// As a reactor is: an interruption and an event end a wait, or the next one.
class model_source final : public event_source {
public:
    std::size_t run(std::size_t most, event_wait* wait) override {
        check::that(brought.read() == 1, "it is seen whole");
        std::size_t count = 0;
        while (count != most && run_one(wait)) {
            ++count;
            if (asks && wait != nullptr && wait->is_wanted()) break;
        }
        return count;
    }
    void interrupt() noexcept override {
        check::that(brought.read() == 1, "it is seen whole");
        signal(interrupted);
    }
    /// The system: what the thread runs then is visible to it.
    void happen() noexcept { signal(happened); }

    int events = 0;
    bool asks = true; // after each event whether it should come back
    void (*on_event)(model_source&) = nullptr;
    solo_loop* loop = nullptr;
    task* own = nullptr; // that an event may post
    sys::cell<int> brought{0};

private:
    static constexpr std::uint32_t interrupted = 1;
    static constexpr std::uint32_t happened = 2;

    void signal(std::uint32_t why) noexcept {
        if (signals_.fetch_or(why, sys::release) == 0) sys::futex_wake(signals_);
    }
    bool take(std::uint32_t why) noexcept {
        return (signals_.load(sys::relaxed) & why) != 0
               && (signals_.fetch_and(~why, sys::acquire) & why) != 0;
    }
    bool run_one(event_wait* wait) {
        sys::clock::time_point until;
        if (!take(happened)) {
            if (wait == nullptr || !wait->begin(until)) return false;
            while (signals_.load(sys::relaxed) == 0) sys::futex_wait(signals_, 0);
            (void)take(interrupted);
            wait->end();
            if (!take(happened)) return false;
        }
        ++events;
        if (on_event != nullptr) on_event(*this);
        return true;
    }

    sys::atomic<std::uint32_t> signals_{0};
};

/// A loop and its source, which end together.
struct place {
    solo_loop loop{nullptr};
    model_source source;

    void bring() {
        source.loop = &loop;
        source.brought.write(1);
        loop.adopt(source);
    }
};

/// A task that ends the work that it was, or what its function does.
class plain_task final : public task {
public:
    using function = void (*)(place& at);
    plain_task(place& at, function f) : task(&answer), at_(at), f_(f) {}

private:
    static const char* answer(task* self, task_request request) {
        auto* const here = static_cast<plain_task*>(self);
        if (request == task_request::run) here->f_(here->at_);
        return nullptr;
    }
    place& at_;
    function f_;
};

void end_work(place& at) { at.loop.work_finished(); }
void end_work_of(model_source& source) { source.loop->work_finished(); }

} // namespace

/// As for the other models of this loop: the loads that only decide whether to look closer are hints.
#define LOOP_MODEL(name, ...) EKIDEN_MODEL(name, .load_buffering = false, __VA_ARGS__, .processors = 1)

LOOP_MODEL(solo_outside_against_post, .about = "a post and the end of work against the wait for events",
           .preemptions = 3, .spurious = 1, .timeouts = 0) {
    place here;
    here.bring();
    sys::cell<int> before(0);
    plain_task task(here, [](place&) {});
    here.loop.work_started();
    sys::thread poster([&] {
        here.loop.push(&task);
        before.write(1);
        here.loop.work_finished();
    });
    check::that(here.loop.run({}) == 1, "the task was run");
    check::that(here.loop.is_stopped() && before.read() == 1, "and then the context had no work");
    poster.join();
}

LOOP_MODEL(solo_outside_two_callers, .about = "two threads have something for the one that waits for events",
           .preemptions = 2, .spurious = 0, .timeouts = 0) {
    place here;
    here.bring();
    plain_task task(here, &end_work);
    here.loop.work_started();
    here.loop.work_started();
    sys::thread poster([&] { here.loop.push(&task); });
    sys::thread worker([&] { here.loop.work_finished(); });
    check::that(here.loop.run({}) == 1, "the task was run");
    check::that(here.loop.is_stopped(), "and nothing is left");
    poster.join();
    worker.join();
}

LOOP_MODEL(solo_outside_against_event, .about = "an event and a post for the thread that waits for events",
           .preemptions = 2, .spurious = 0, .timeouts = 0) {
    place here;
    here.bring();
    here.source.on_event = &end_work_of;
    sys::cell<int> posted(0);
    plain_task task(here, &end_work);
    here.loop.work_started();
    here.loop.work_started();
    sys::thread system([&] { here.source.happen(); });
    sys::thread poster([&] { here.loop.push(&task); });
    check::that(here.loop.run({}) == 2, "both were run");
    check::that(here.source.events == 1, "the event once");
    system.join();
    poster.join();
}

LOOP_MODEL(solo_outside_own,
           .about = "what an event posts to its own loop is run, though the source goes on to its wait",
           .preemptions = 2, .spurious = 0, .timeouts = 0) {
    place here;
    here.bring();
    here.source.asks = false;
    here.source.on_event = [](model_source& source) { source.loop->push(source.own); };
    plain_task own(here, &end_work);
    plain_task other(here, &end_work);
    here.source.own = &own;
    here.loop.work_started();
    here.loop.work_started();
    sys::thread system([&] { here.source.happen(); });
    sys::thread poster([&] { here.loop.push(&other); });
    check::that(here.loop.run({}) == 3, "the event and both tasks were run");
    system.join();
    poster.join();
}

LOOP_MODEL(solo_outside_end,
           .about = "the loop and its source end when the last task, event and work are over, though those "
                    "that brought them have not returned",
           .preemptions = 3, .spurious = 0, .timeouts = 0) {
    auto here = std::make_unique<place>();
    here->bring();
    here->loop.work_started();
    const int what = check::choose(3);
    plain_task task(*here, &end_work);
    sys::thread caller([&task, what, at = here.get()] {
        if (what == 0)
            at->loop.push(&task);
        else if (what == 1)
            at->loop.stop();
        else
            at->loop.work_finished();
    });
    check::that(here->loop.run({}) == (what == 0 ? 1 : 0), "run");
    here.reset();
    caller.join();
}

LOOP_MODEL(solo_outside_ended_by_event,
           .about =
               "an event ends the wait, and the loop stops and ends, while a post is under way or a call "
               "interrupts",
           .preemptions = 2, .spurious = 0, .timeouts = 0) {
    auto here = std::make_unique<place>();
    here->bring();
    here->loop.work_started();
    here->source.on_event = [](model_source& source) { source.loop->work_finished(); };
    sys::thread system([at = here.get()] { at->source.happen(); });
    sys::thread stopper([at = here.get()] { at->loop.stop(); });
    const std::size_t count = here->loop.run({});
    check::that(count <= 1 && here->loop.is_stopped(), "run");
    system.join();                  // of the source, which the kernel would keep
    if (count == 1) stopper.join(); // may be late: it is not known to have begun
    here.reset();
    if (count == 0) stopper.join();
}

LOOP_MODEL(solo_source_arrives, .about = "a source that comes while the thread sleeps is waited for",
           .preemptions = 3, .spurious = 0, .timeouts = 0) {
    place here;
    here.source.on_event = &end_work_of;
    here.loop.work_started();
    sys::thread bringer([&] {
        here.bring();
        here.source.happen();
    });
    check::that(here.loop.run({}) == 1, "the event was run");
    bringer.join();
}

LOOP_MODEL(solo_outside_called_by_stranger,
           .about = "a thread that has nothing to do with the source's arrival interrupts its wait",
           .preemptions = 2, .spurious = 0, .timeouts = 0) {
    auto here = std::make_unique<place>();
    here->loop.work_started();
    const bool stops = check::choose(2) != 0;
    sys::thread bringer([at = here.get()] { at->bring(); });
    sys::thread stranger([stops, at = here.get()] { stops ? at->loop.stop() : at->loop.work_finished(); });
    check::that(here->loop.run({}) == 0, "run");
    bringer.join();
    here.reset();
    stranger.join();
}

LOOP_MODEL(solo_outside_poll, .about = "a poll runs the event that is there, and does not wait",
           .preemptions = 3, .spurious = 0, .timeouts = 0) {
    place here;
    here.bring();
    here.source.on_event = &end_work_of;
    here.loop.work_started();
    sys::thread system([&] { here.source.happen(); });
    const std::size_t count = here.loop.run({.waits = false});
    system.join();
    check::that(count + here.loop.run({.waits = false}) == 1, "now or then");
    check::that(here.loop.is_stopped(), "nothing is left");
}

LOOP_MODEL(solo_source_arrives_at_work,
           .about = "a source that comes between two tasks has its turn, and is seen whole then",
           .preemptions = 3, .spurious = 0, .timeouts = 0) {
    place here;
    plain_task first(here, [](place&) {});
    plain_task second(here, [](place&) {});
    here.loop.push(&first);
    here.loop.push(&second);
    sys::thread bringer([&] {
        here.bring();
        here.source.happen();
    });
    const std::size_t count = here.loop.run({.waits = false});
    check::that(count == 2 + static_cast<std::size_t>(here.source.events),
                "both tasks, and the event or not yet");
    bringer.join();
}

} // namespace solo_loop_events_models
