// Timers: cancel() against expiry, against the start of the handler, and against the end of the timer; the
// end of the context against a new wait; the wait for a handler; the driver's thread. In each model, every
// wait completes once. The number of counted waits equals the number of handlers that report a cancellation.
#include <check/engine/model.hpp>
#include <check/models/context_model.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/parker.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/thread_number.hpp>
#include <ekiden/timer/waitable_timer.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>

namespace timer_models {

namespace {

using namespace context_model;
using namespace std::chrono_literals;

/// A clock that shows what the model has set before it starts threads.
struct set_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<set_clock>;
    static constexpr bool is_steady = false;

    static inline std::int64_t shown = 0;
    static time_point now() noexcept { return time_point(duration(shown)); }
};

template <class Clock = set_clock>
using model_timer = basic_waitable_timer<Clock, model_context::executor_type>;

/// Counts the outcomes of the waits. Plain numbers are enough, because a model runs on one real thread.
struct account {
    int begun = 0;
    int succeeded = 0;
    int canceled = 0;
    int dropped = 0;
    int counted = 0; // the sum of what cancel() returned

    template <class Timer>
    void wait(Timer& timer) {
        ++begun;
        timer.async_wait([this, w = witness{this}](std::error_code error) mutable {
            w.all = nullptr;
            ++(error ? canceled : succeeded);
        });
    }
    void check() const {
        check::that(succeeded + canceled + dropped == begun, "each wait ends once");
        check::that(canceled == counted, "as many report operation_canceled as were counted");
    }

private:
    struct witness {
        account* all;
        explicit witness(account* a) : all(a) {}
        witness(witness&& other) noexcept : all(std::exchange(other.all, nullptr)) {}
        ~witness() {
            if (all != nullptr) ++all->dropped;
        }
    };
};

/// Returns a timer in the wheel that is due at the next ring().
std::unique_ptr<model_timer<>> about_to_fire(model_context& context, account& waits, int count) {
    set_clock::shown = 0;
    auto timer = std::make_unique<model_timer<>>(context, 100ns);
    for (; count != 0; --count) waits.wait(*timer);
    set_clock::shown = 100;
    return timer;
}

} // namespace

EKIDEN_MODEL(timer_cancel_against_expiry, .about = "cancel() while the timer fires and its handlers begin",
             .preemptions = 3, .spurious = 0) {
    model_context context;
    account waits;
    const auto timer = about_to_fire(context, waits, 2);
    sys::thread loop([&] {
        context.ring();
        context.run();
    });
    waits.counted += static_cast<int>(timer->cancel());
    check::that(timer->cancel() == 0, "nobody waits any more");
    loop.join();
    context.run();
    waits.check();
}

EKIDEN_MODEL(timer_cancel_against_start, .about = "two threads cancel what a third one runs",
             .preemptions = 3, .spurious = 0) {
    model_context context;
    account waits;
    const auto timer = about_to_fire(context, waits, 2);
    context.ring();
    sys::thread worker([&] { context.run(); });
    sys::thread other([&] { waits.counted += static_cast<int>(timer->cancel_one()); });
    waits.counted += static_cast<int>(timer->cancel());
    other.join();
    worker.join();
    context.run();
    waits.check();
}

EKIDEN_MODEL(timer_end_against_expiry, .about = "a timer ends while it fires and its handler begins",
             .preemptions = 3, .spurious = 0) {
    model_context context;
    account waits;
    auto timer = about_to_fire(context, waits, 1);
    sys::thread loop([&] {
        context.ring();
        context.run();
    });
    timer.reset();
    loop.join();
    context.run();
    check::that(waits.succeeded + waits.canceled == 1, "the wait ends once");
}

EKIDEN_MODEL(timer_end_while_it_posts,
             .about = "a handler has ended and the timer goes while the thread that posted it is still at it",
             .preemptions = 3, .spurious = 0) {
    model_context context;
    account waits;
    auto timer = about_to_fire(context, waits, 1);
    sys::thread loop([&] { context.ring(); });
    context.run();
    timer.reset();
    loop.join();
    context.run();
    check::that(waits.succeeded + waits.canceled == 1, "the wait ends once");
}

EKIDEN_MODEL(timer_set_again_while_it_fires, .about = "a thread has taken a timer out that is set anew",
             .preemptions = 3, .spurious = 0) {
    model_context context;
    account waits;
    const auto timer = about_to_fire(context, waits, 1);
    sys::thread loop([&] { context.ring(); });
    waits.counted += static_cast<int>(timer->expires_at(set_clock::time_point(200ns)));
    waits.wait(*timer);
    loop.join();
    context.run();
    check::that(waits.succeeded + waits.canceled == 1, "the new wait has not expired");
    set_clock::shown = 200;
    context.ring();
    context.run();
    waits.check();
}

EKIDEN_MODEL(timer_first_wait_against_cancel,
             .about = "the first wait of a timer while another thread cancels", .preemptions = 3,
             .spurious = 0) {
    model_context context;
    account waits;
    set_clock::shown = 0;
    model_timer<> timer(context, 100ns);
    sys::thread canceller([&] { waits.counted += static_cast<int>(timer.cancel()); });
    waits.wait(timer);
    canceller.join();
    waits.counted += static_cast<int>(timer.cancel());
    context.run();
    waits.check();
    check::that(waits.counted == 1, "one of the two calls has counted it");
}

EKIDEN_MODEL(timer_posted_in_order, .about = "waits that begin while others are posted come behind them",
             .preemptions = 3, .spurious = 0) {
    model_context context;
    set_clock::shown = 0;
    int last = 0;
    const auto in_order = [&last](int number) {
        return [&last, number](std::error_code) {
            check::that(last + 1 == number, "in the order in which they began");
            last = number;
        };
    };
    model_timer<> timer(context, 100ns);
    timer.async_wait(in_order(1));
    timer.async_wait(in_order(2));
    set_clock::shown = 100;
    sys::thread loop([&] { context.ring(); });
    timer.async_wait(in_order(3)); // has expired already
    loop.join();
    context.ring();
    context.run();
    check::that(last == 3, "all");
}

EKIDEN_MODEL(timer_shutdown_against_wait, .about = "the context shuts down while a wait begins",
             .preemptions = 3, .spurious = 0) {
    model_context context;
    account waits;
    const auto before = about_to_fire(context, waits, 1);
    model_timer<> timer(context, 300ns);
    sys::thread user([&] {
        waits.wait(timer);
        waits.counted += static_cast<int>(timer.cancel());
    });
    context.shut_down();
    user.join();
    context.run();
    waits.check();
}

EKIDEN_MODEL(timer_shutdown_while_it_fires, .load_buffering = false,
             .about = "the context shuts down while its thread is about to fire a timer that was set again",
             .preemptions = 2, .spurious = 0, .timeouts = 0) {
    model_context context(false);
    model_context other;
    account waits;
    const auto timer = about_to_fire(context, waits, 1); // starts the thread
    waits.counted += static_cast<int>(timer->expires_at(set_clock::time_point(200ns)));
    bool is_early = false;
    timer->async_wait(bind_executor(other.get_executor(), [&](std::error_code error) { is_early = !error; }));
    context.end();
    other.run();
    check::that(!is_early, "the new wait has not expired");
}

EKIDEN_MODEL(timer_cancel_and_wait, .about = "what a handler has done is visible after cancel_and_wait",
             .preemptions = 3) {
    model_context context;
    sys::cell<int> written{0};
    bool has_begun = false;
    set_clock::shown = 0;
    {
        model_timer<> timer(context, 0ns);
        timer.async_wait([&](std::error_code error) {
            if (error) return;
            has_begun = true;
            written.write(1);
        });
        context.ring();
        sys::thread worker([&] { context.run(); });
        const bool was_counted = timer.cancel_and_wait() == 1;
        check::that(has_begun != was_counted, "it was counted, or it has begun");
        if (has_begun) check::that(written.read() == 1, "and ended");
        worker.join();
    }
    context.run();
}

EKIDEN_MODEL(timer_cancel_sees_the_begin,
             .about = "a cancel that finds nobody waiting sees what came before the handler",
             .preemptions = 3) {
    model_context context;
    sys::cell<int> written{0};
    set_clock::shown = 0;
    model_timer<> timer(context, 0ns);
    timer.async_wait([](std::error_code) {});
    context.ring();
    sys::thread worker([&] {
        written.write(1);
        context.run();
    });
    if (timer.cancel() == 0) check::that(written.read() == 1, "the handler has begun");
    worker.join();
    context.run();
}

// The thread's reads of the next alarm and of its own word are only hints, so load buffering is not reported.
EKIDEN_MODEL(timer_thread_sees_earlier, .load_buffering = false,
             .about = "an earlier timer wakes the thread that rings", .preemptions = 3, .timeouts = 0) {
    model_context context(false);
    using timer_type = model_timer<std::chrono::steady_clock>;
    timer_type never(context, std::chrono::steady_clock::time_point::max());
    never.async_wait([](std::error_code) {}); // starts the thread
    timer_type soon(context, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(1)));
    bool has_fired = false;
    soon.async_wait([&](std::error_code error) { has_fired = !error; });
    for (context.run(); !has_fired; context.run()) sys::yield();
    never.cancel();
    context.end();
}

EKIDEN_MODEL(timer_queue_while_it_rings, .load_buffering = false,
             .about = "the thread that rings sees the queue of another clock whole", .preemptions = 2,
             .timeouts = 0) {
    model_context context(false);
    model_timer<std::chrono::steady_clock> never(context, std::chrono::steady_clock::time_point::max());
    never.async_wait([](std::error_code) {}); // starts the thread
    set_clock::shown = 0;
    model_timer<> other(context, 100ns);
    other.async_wait([](std::error_code) {}); // creates the queue
    never.cancel();
    other.cancel();
    context.end();
}

// In the next models, the threads set their timers in different parts of the queue.

EKIDEN_MODEL(timer_parts_agree_on_the_alarm, .load_buffering = false, .old_values = 1,
             .about = "two threads set the alarm at once: it is the earlier one", .preemptions = 1,
             .spurious = 0, .timeouts = 0) {
    model_context context(false, true);
    using timer_type = model_timer<std::chrono::steady_clock>;
    const auto begin = sys::clock::now();
    timer_type soon(context, begin + 10ns);
    timer_type later(context, begin + 20ns);
    sys::thread other([&] { later.async_wait([](std::error_code) {}); });
    bool has_fired = false;
    soon.async_wait([&](std::error_code error) { has_fired = !error; });
    other.join();
    context.run_until([&] { return has_fired; });
    check::that(sys::clock::now() == begin + 10ns, "at its time");
    later.cancel();
    context.end();
}

EKIDEN_MODEL(timer_part_is_made_while_it_fires, .load_buffering = false, .old_values = 1,
             .about = "a thread sets its first timer while the thread that rings looks for the next alarm",
             .preemptions = 1, .spurious = 0, .timeouts = 1) {
    model_context context(false, true);
    using timer_type = model_timer<std::chrono::steady_clock>;
    const auto begin = sys::clock::now();
    int fired = 0;
    const auto count = [&fired](std::error_code error) { fired += error ? 0 : 1; };
    timer_type first(context, begin + 10ns);
    first.async_wait(count);
    timer_type second(context, begin + 15ns);
    sys::thread other([&] { second.async_wait(count); });
    context.run_until([&] { return fired == 2; });
    other.join();
    context.end();
}

// The second and the fourth thread that sets timers have the same part.
EKIDEN_MODEL(timer_part_is_seen_whole, .load_buffering = false, .old_values = 1,
             .about = "a thread uses the part that another thread has just made", .preemptions = 1,
             .spurious = 0, .timeouts = 0) {
    model_context context(false);
    using timer_type = model_timer<std::chrono::steady_clock>;
    constexpr auto end = std::chrono::steady_clock::time_point::max();
    timer_type timers[] = {timer_type(context, end), timer_type(context, end), timer_type(context, end)};
    const auto wait = [&timers](int number) { timers[number].async_wait([](std::error_code) {}); };
    wait(0); // starts the thread
    sys::atomic<bool> has_number{false};
    sys::thread maker([&] {
        (void)sys::thread_number<timer_queue>();
        has_number.store(true, sys::relaxed); // orders nothing
        wait(1);
    });
    while (!has_number.load(sys::relaxed)) sys::yield();
    sys::thread([] { (void)sys::thread_number<timer_queue>(); }).join();
    sys::thread user([&] { wait(2); });
    user.join();
    maker.join();
    for (timer_type& each : timers) each.cancel();
    context.end();
}

} // namespace timer_models
