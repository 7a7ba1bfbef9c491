// A coroutine that waits for a lock with a limit: the grant, the stop of its environment and the timer
// compete, and the frame may be destroyed meanwhile. src/ekiden/async/detail/locks.md says what is claimed.
#include <check/models/coroutine_model.hpp>

#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/detail/limited_wait.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/timer/detail/timer_service.hpp>

#include <coroutine>
#include <exception>
#include <source_location>

namespace async_limits_models {

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

/// A context that counts what is posted and runs none of it. A thread rings its timers.
struct silent_context : execution_context {
    sys::atomic<int> posted{0};
    alarm_clock* alarm = nullptr;

    struct executor : task_sink<executor> {
        explicit executor(silent_context& in) noexcept : in_(&in) {}
        silent_context& context() const noexcept { return *in_; }
        void on_work_started() const noexcept {}
        void on_work_finished() const noexcept {}
        bool accept(task*, task_order) const {
            in_->posted.fetch_add(1, sys::relaxed);
            return true;
        }
        task* continue_with(task* given) const {
            (void)accept(given, task_order::usual);
            return nullptr;
        }
        bool running_in_this_thread() const noexcept { return false; }
        void report_unhandled(const char*) const noexcept {}
        friend bool operator==(const executor&, const executor&) = default;

    private:
        silent_context* in_;
    };

    ~silent_context() override {
        shut_down_services();
        end_services();
    }
    executor get_executor() noexcept { return executor(*this); }

private:
    bool adopt(alarm_clock& given) override {
        alarm = &given;
        return true;
    }
};

/// A wait with a limit, without a coroutine: what the end of its frame does.
struct bare_limited_wait : detail::limited_wait {
    environment env;
    bare_coroutine::promise_type promise;

    bare_limited_wait(silent_context& context, stop_state* stop)
        : limited_wait(soon()), env(context.get_executor(), stop) {
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
    ekiden::detail::lock_access::core(m).enter(ekiden::mutex_base::free);
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
    check::that(ekiden::detail::lock_access::core(m).try_enter(mutex_base::free),
                "the mutex is free at the end");
    ekiden::detail::lock_access::core(m).exit(0);
}

// What a wait reads of the semaphore before its limit ends it is a hint.
EKIDEN_MODEL(async_limit_all_at_once, .load_buffering = false, .old_values = 1,
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
    ekiden::detail::lock_access::core(m).enter(ekiden::mutex_base::free);
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
    ekiden::detail::lock_access::core(m).enter(ekiden::mutex_base::free);
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

// The threads agree in the context once a coroutine has been posted, so the wait is there until they have
// ended.
// What claim() reads first is a hint: its compare-exchange decides.
EKIDEN_MODEL(async_limit_end_of_frame, .load_buffering = false, .old_values = 1,
             .about = "a frame with a set timer ends as its lock is granted and a stop is requested",
             .preemptions = 2, .spurious = 0, .weak_failures = 0, .timeouts = 0) {
    silent_context context;
    stop_state stop;
    state_lock lock;
    lock.enter(1);
    bare_limited_wait wait(context, &stop);
    const bool waits = wait.waits_for(lock);
    check::that(waits, "another thread is inside");
    sys::thread holder([&] { lock.exit(0); });
    sys::thread stopper([&] { (void)stop.request_stop(); });
    if (check::choose(2) == 1) context.alarm->ring(); // a thread of the context, which also ends the frame
    if (wait.end()) lock.exit(0);                     // it has been given to the frame
    holder.join();
    stopper.join();
    check::that(context.posted.load(sys::relaxed) <= 1, "posted once at most");
    check::that(lock.try_enter(1), "free again");
    lock.exit(0);
}

} // namespace async_limits_models
