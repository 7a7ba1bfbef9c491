// A coroutine that waits for a lock with a limit: the grant, the stop of its environment and the timer
// compete, and the frame may be destroyed meanwhile. ekiden/async/locks.md says what is claimed.
#include <check/models/coroutine_model.hpp>

#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/limited_wait.hpp>
#include <ekiden/async/stop_state.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/timer/timer_service.hpp>

#include <coroutine>
#include <exception>
#include <source_location>

namespace {

using namespace coroutine_model;

using clock_service = timer_service<sys::clock::time_point::clock>;

/// A limit that the clock of a model has reached when the context rings.
wait_limit soon() { return wait_limit::until(sys::clock::now()); }

/// A coroutine's promise for a wait without a coroutine.
struct bare_coroutine {
    struct promise_type : coroutine_promise {
        promise_type() noexcept : coroutine_promise(std::source_location::current()) {}
        bare_coroutine get_return_object() noexcept { return {}; }
        static std::suspend_never final_suspend() noexcept { return {}; }
        static void return_void() noexcept {}
        [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); }
    };
};

/// A wait with a limit, without a coroutine: what the end of its frame does.
struct bare_limited_wait : detail::limited_wait {
    environment env;
    bare_coroutine::promise_type promise;

    bare_limited_wait(model_context& context, stop_state* stop)
        : limited_wait(soon()), env{.executor = context.get_executor(), .stop = stop} {
        promise.work_under(env);
    }
    bool waits_for(state_lock& lock) {
        (void)begin(std::coroutine_handle<bare_coroutine::promise_type>::from_promise(promise));
        return wait({lock, 1});
    }
    using detail::limited_wait::end;
};

} // namespace

EKIDEN_MODEL(async_limit_served_or_due, .old_values = 2,
             .about = "a mutex is released as the timer of the coroutine that waits for it fires",
             .preemptions = 2, .spurious = 0, .weak_failures = 0, .timeouts = 0) {
    model_context context;
    (void)use_service<clock_service>(context); // so that ring() finds it
    mutex m;
    m.core().enter_only();
    sys::cell<int> count{1};
    int outcome = 0;
    auto waiting = [&]() -> coroutine<> {
        const auto guard = co_await async_lock(m, soon());
        if (guard) count.write(count.read() + 1);
        ++outcome;
    };
    begin(context, waiting);
    sys::thread holder([&] {
        count.write(count.read() + 1);
        async_unlock(m);
    });
    context.run();
    context.ring();
    context.run();
    holder.join();
    context.run();
    check::that(outcome == 1, "it resumes once");
    check::that(m.core().try_enter(mutex_base::free), "the mutex is free at the end");
    m.core().exit(0);
}

EKIDEN_MODEL(async_limit_all_at_once, .old_values = 1,
             .about = "a permit, a stop and the timer in three threads: the wait ends once, the permit stays",
             .preemptions = 1, .spurious = 0, .weak_failures = 0, .timeouts = 0) {
    model_context context;
    (void)use_service<clock_service>(context);
    counting_semaphore<> s(0);
    stop_state stop;
    int outcome = 0;
    bool got = false;
    auto waiting = [&]() -> coroutine<> {
        got = co_await async_acquire(s, soon());
        ++outcome;
    };
    begin(context, waiting, &stop);
    sys::thread stopper([&] { (void)stop.request_stop(); });
    sys::thread timer([&] {
        context.ring();
        context.run();
    });
    context.run();
    s.release();
    stopper.join();
    timer.join();
    context.ring();
    context.run();
    check::that(outcome == 1, "it resumes once");
    check::that(s.try_acquire() != got, "the permit is there exactly once");
}

EKIDEN_MODEL(async_limit_stopped_for_good, .about = "a stop while a wait with a far deadline begins ends it",
             .preemptions = 3, .spurious = 0, .weak_failures = 0, .timeouts = 0) {
    model_context context;
    mutex m;
    m.core().enter_only();
    stop_state stop;
    int stopped = 0;
    auto waiting = [&]() -> coroutine<> {
        const auto guard = co_await async_try_lock_for(m, std::chrono::hours(24));
        stopped += guard ? 0 : 1;
    };
    begin(context, waiting, &stop);
    sys::thread stopper([&] { (void)stop.request_stop(); });
    context.run();
    stopper.join();
    context.run();
    check::that(stopped == 1, "stopped, once");
}

EKIDEN_MODEL(async_limit_due_while_it_begins, .old_values = 1,
             .about = "the timer fires in another thread, which resumes the coroutine, while the wait begins",
             .preemptions = 2, .spurious = 0, .weak_failures = 0, .timeouts = 0) {
    model_context context;
    (void)use_service<clock_service>(context);
    mutex m;
    m.core().enter_only();
    int outcome = 0;
    auto waiting = [&]() -> coroutine<> {
        const auto guard = co_await async_lock(m, soon());
        outcome += guard ? 100 : 1;
    };
    begin(context, waiting);
    sys::thread other([&] {
        context.ring();
        context.run();
    });
    context.run();
    other.join();
    context.ring();
    context.run();
    check::that(outcome == 1, "timed out, once");
}

EKIDEN_MODEL(async_limit_end_of_frame, .old_values = 1,
             .about = "a frame with a set timer ends as its lock is granted and a stop is requested",
             .preemptions = 2, .spurious = 0, .weak_failures = 0, .timeouts = 0) {
    model_context context;
    stop_state stop;
    state_lock lock;
    lock.enter(1);
    sys::thread holder;
    {
        bare_limited_wait wait(context, &stop);
        check::that(wait.waits_for(lock), "another thread is inside");
        holder = sys::thread([&] { lock.exit(0); });
        if (wait.end()) lock.exit(0); // it has been given to the frame
    }
    holder.join();
    check::that(lock.try_enter(1), "free again");
    lock.exit(0);
}
