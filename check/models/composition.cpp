// when_any against its own children and a stop from outside; the wait for a scope against spawn and the last
// child; an awaited timer against a stop before, between and after its parts; a deadline against the end of
// what it limits. In each, what is begun ends once.
#include <check/models/coroutine_model.hpp>

#include <ekiden/async/async_scope.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/when_any.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/timer/detail/timer_service.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

namespace composition_models {

namespace {

using namespace coroutine_model;
using namespace std::chrono_literals;

} // namespace

// As in stop_two_wait: what a sleeper of a stop_state reads before the lock is a hint.
EKIDEN_MODEL(when_any_against_stop, .load_buffering = false,
             .about = "three children, two of which are let through, and a stop from outside",
             .preemptions = 1, .spurious = 0, .timeouts = 0) {
    model_context context;
    stop_state stop;
    model_gate gates[3];
    int ended = 0;   // children; one real thread: plain numbers count
    int outcome = 0; // how often when_any has gone on
    sys::cell<int> written{0};
    const auto child = [&](std::size_t i) {
        return [&, i]() -> coroutine<bool> {
            const bool is_let = co_await gates[i].wait();
            if (is_let && i == 0) written.write(1);
            ++ended;
            if (!is_let) throw operation_canceled("child");
            co_return is_let;
        };
    };
    auto one = child(0);
    auto two = child(1);
    auto three = child(2);
    auto whole = [&]() -> coroutine<> {
        try {
            const auto first = co_await when_any(one, two, three);
            check::that(first.index() < 2, "one that was let through");
            if (first.index() == 0) check::that(written.read() == 1, "what the winner has done");
        } catch (const operation_canceled&) {
        }
        check::that(ended == 3, "all children have ended");
        ++outcome;
    };
    begin(context, whole, &stop);
    context.run();
    sys::thread other([&] {
        gates[0].open();
        gates[1].open();
        context.run();
    });
    stop.request_stop();
    context.run();
    other.join();
    context.run();
    check::that(outcome == 1, "it goes on once");
}

EKIDEN_MODEL(when_all_begins_while_members_end,
             .about = "members that wait end in another thread while the last ones begin", .preemptions = 2,
             .spurious = 0, .timeouts = 0) {
    model_context context;
    model_gate gates[2];
    sys::cell<int> written[2];
    int outcome = 0;
    const auto member = [&](std::size_t i) {
        return [&, i]() -> coroutine<> {
            const bool is_let = co_await gates[i].wait();
            check::that(is_let, "no stop");
            written[i].write(1);
        };
    };
    auto one = member(0);
    auto two = member(1);
    auto whole = [&]() -> coroutine<> {
        co_await when_all(one, two);
        check::that(written[0].read() + written[1].read() == 2, "what both have done");
        ++outcome;
    };
    begin(context, whole);
    sys::thread other([&] {
        gates[0].open();
        context.run();
        gates[1].open();
        context.run();
    });
    context.run();
    other.join();
    context.run();
    check::that(outcome == 1, "it goes on once");
}

EKIDEN_MODEL(scope_wait_against_children,
             .about = "wait() while children end in two threads; the scope goes with the wait",
             .preemptions = 2, .spurious = 0, .timeouts = 0) {
    model_context context;
    auto scope = std::make_unique<async_scope>(context.get_executor());
    sys::cell<int> written[2];
    bool has_waited = false;
    const auto child = [&](std::size_t i) {
        return [&, i]() -> coroutine<> {
            written[i].write(1);
            co_return;
        };
    };
    auto waiting = [&]() -> coroutine<> {
        co_await scope->wait();
        check::that(written[0].read() + written[1].read() == 2, "what both have done");
        scope.reset();
        has_waited = true;
    };
    check::that(scope->spawn(child(0)) && scope->spawn(child(1)), "it is open");
    begin(context, waiting);
    sys::thread other([&] { context.run(); });
    context.run();
    other.join();
    context.run();
    check::that(has_waited, "the wait returns");
}

EKIDEN_MODEL(scope_waited_for_twice,
             .about = "two wait for one scope in two threads; the scope goes with the first that resumes",
             .preemptions = 2, .spurious = 0, .timeouts = 0) {
    model_context context;
    auto scope = std::make_unique<async_scope>(context.get_executor());
    model_gate opened;
    sys::atomic<int> resumed{0};
    const auto child = [&]() -> coroutine<> { (void)co_await opened.wait(); };
    auto waiting = [&]() -> coroutine<> {
        co_await scope->wait();
        if (resumed.fetch_add(1, sys::relaxed) == 0) scope.reset();
    };
    auto other_waiting = waiting;
    check::that(scope->spawn(child), "it is open");
    begin(context, waiting);
    begin(context, other_waiting);
    context.run(); // all wait
    opened.open();
    sys::thread other([&] { context.run(); });
    context.run();
    other.join();
    context.run();
    check::that(resumed.load(sys::relaxed) == 2, "both go on");
}

EKIDEN_MODEL(scope_spawn_against_wait, .about = "what is accepted is awaited, and the rest refused",
             .preemptions = 2, .spurious = 0, .timeouts = 0) {
    model_context context;
    async_scope scope(context.get_executor());
    int ended = 0;
    int accepted = 0;
    bool has_waited = false;
    const auto child = [&]() -> coroutine<> {
        check::that(!has_waited, "not after the wait");
        ++ended;
        co_return;
    };
    auto waiting = [&]() -> coroutine<> {
        co_await scope.wait();
        has_waited = true;
    };
    begin(context, waiting);
    sys::thread spawner([&] {
        const bool is_accepted = scope.spawn(child);
        accepted += static_cast<int>(is_accepted);
        context.run();
    });
    context.run();
    spawner.join();
    context.run();
    check::that(has_waited && ended == accepted, "each that was accepted has run");
    check::that(!scope.spawn(child), "closed");
}

EKIDEN_MODEL(sleep_against_stop,
             .about = "a timer that is awaited: the stop while it begins, fires, and between fired and run",
             .preemptions = 2, .spurious = 0, .timeouts = 0) {
    model_context context;
    stop_state stop;
    int outcome = 0;
    auto sleeping = [&]() -> coroutine<> {
        try {
            co_await sleep_until(sys::clock::now());
        } catch (const operation_canceled&) {
            check::that(stop.stop_requested(), "only after a stop");
        }
        ++outcome;
    };
    begin(context, sleeping, &stop);
    sys::thread stopper([&] { stop.request_stop(); });
    context.run();
    context.ring();
    context.run();
    stopper.join();
    context.ring();
    context.run();
    check::that(outcome == 1, "it goes on once");
}

EKIDEN_MODEL(sleep_fires_while_it_begins,
             .about = "the timer fires in another thread, which goes on with the coroutine, while it begins",
             .preemptions = 3, .spurious = 0, .timeouts = 0) {
    model_context context;
    (void)use_service<timer_service<sys::clock::time_point::clock>>(
        context); // or the other thread may find nothing to ring
    bool has_slept = false;
    auto sleeping = [&]() -> coroutine<> {
        co_await sleep_until(sys::clock::now());
        has_slept = true;
    };
    begin(context, sleeping);
    sys::thread other([&] {
        context.ring();
        context.run();
    });
    context.run();
    other.join();
    context.ring();
    context.run();
    check::that(has_slept, "it has ended");
}

EKIDEN_MODEL(sleep_stopped_for_good, .about = "a stop while a long sleep begins ends it", .preemptions = 3,
             .spurious = 0, .timeouts = 0) {
    model_context context;
    stop_state stop;
    int stopped = 0;
    auto sleeping = [&]() -> coroutine<> {
        try {
            co_await sleep_for(24h);
        } catch (const operation_canceled&) {
            ++stopped;
        }
    };
    begin(context, sleeping, &stop);
    sys::thread stopper([&] { stop.request_stop(); });
    context.run();
    stopper.join();
    context.run();
    check::that(stopped == 1, "stopped, once");
}

EKIDEN_MODEL(sleep_fired_is_granted, .about = "a stop after the timer has fired changes nothing",
             .preemptions = 3, .spurious = 0, .timeouts = 0) {
    model_context context;
    stop_state stop;
    bool has_slept = false;
    auto sleeping = [&]() -> coroutine<> {
        co_await sleep_until(sys::clock::now());
        has_slept = true;
    };
    begin(context, sleeping, &stop);
    context.run();
    context.ring(); // queued
    sys::thread stopper([&] { stop.request_stop(); });
    context.run();
    stopper.join();
    check::that(has_slept, "what was granted before the stop is delivered");
}

EKIDEN_MODEL(deadline_against_end, .about = "the alarm is set and rings while what it limits ends",
             .preemptions = 2, .spurious = 0, .timeouts = 0) {
    model_context context;
    model_gate gate;
    int outcome = 0;
    const auto limited = [&]() -> coroutine<> {
        const bool is_let = co_await gate.wait();
        if (!is_let) throw operation_canceled("limited");
    };
    auto whole = [&]() -> coroutine<> {
        try {
            co_await with_deadline(sys::clock::now(), limited);
        } catch (const timed_out&) {
        }
        ++outcome;
    };
    begin(context, whole);
    sys::thread other([&] {
        gate.open();
        context.run();
    });
    context.run();
    context.ring();
    context.run();
    other.join();
    context.ring();
    context.run();
    check::that(outcome == 1, "it goes on once");
}

EKIDEN_MODEL(deadline_is_taken_back, .about = "the end of what is limited while a far alarm is set",
             .preemptions = 2, .spurious = 0, .timeouts = 0) {
    model_context context;
    model_gate gate;
    int outcome = 0;
    const auto limited = [&]() -> coroutine<> {
        const bool is_let = co_await gate.wait();
        check::that(is_let, "nothing stops it");
    };
    auto whole = [&]() -> coroutine<> {
        co_await with_timeout(24h, limited);
        ++outcome;
    };
    begin(context, whole);
    sys::thread other([&] {
        gate.open();
        context.run();
    });
    context.run();
    other.join();
    context.run();
    check::that(outcome == 1, "it goes on without the alarm");
}

// Whether one has won already is a hint to the thread that begins the others.
EKIDEN_MODEL(when_any_stops_the_rest, .load_buffering = false,
             .about = "the first one stops the others while they begin", .preemptions = 2, .spurious = 0,
             .timeouts = 0) {
    model_context context;
    model_gate gates[2];
    int ended = 0;
    int outcome = 0;
    const auto child = [&](std::size_t i) {
        return [&, i]() -> coroutine<bool> {
            const bool is_let = co_await gates[i].wait();
            ++ended;
            co_return is_let;
        };
    };
    auto one = child(0);
    auto two = child(1);
    auto whole = [&]() -> coroutine<> {
        const auto first = co_await when_any(one, two);
        check::that(first.index() == 0 && ended >= 1, "the one that was let through; the other was stopped");
        ++outcome;
    };
    begin(context, whole);
    sys::thread other([&] {
        gates[0].open();
        context.run();
    });
    context.run();
    other.join();
    context.run();
    check::that(outcome == 1, "it goes on once");
}

} // namespace composition_models
