// The whole pool, from the outside: one or two workers and the caller. Its parts have models of their own;
// these look for what only shows when they meet.
#include <check/models/pool_model.hpp>

#include <ekiden/future/promise.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>
#include <system_error>
#include <utility>

namespace pool_models {

namespace {

using namespace ekiden;

/// A callable that counts its end.
struct note {
    int* ends;
    explicit note(int& e) : ends(&e) {}
    note(note&& other) noexcept : ends(std::exchange(other.ends, nullptr)) {}
    ~note() {
        if (ends != nullptr) ++*ends;
    }
    void operator()() const {}
};

} // namespace

POOL_MODEL(pool_post, .about = "a posted task runs before the pool ends", .preemptions = 2, .spurious = 0) {
    int ran = 0;
    {
        thread_pool pool({.threads = 1});
        check::that(pool.post([&ran] { ++ran; }), "a running pool accepts");
    }
    check::that(ran == 1, "the task ran once");
}

POOL_MODEL(pool_submit, .about = "a result comes back through the future", .preemptions = 2, .spurious = 0) {
    thread_pool pool({.threads = 1});
    sys::cell<int> message{0};
    future<int> f = pool.submit([&message] {
        message.write(1);
        return 7;
    });
    check::that(f.get() == 7, "the value");
    check::that(message.read() == 1, "get orders what the task did");
}

POOL_MODEL(pool_wait_idle, .about = "wait_idle returns after all that was posted, and what that posted",
           .preemptions = 2, .spurious = 0) {
    thread_pool pool({.threads = 1});
    sys::cell<int> done{0};
    (void)pool.post([&] { (void)pool.post([&] { done.write(1); }); });
    pool.wait_idle();
    check::that(done.read() == 1, "the effects are visible");
}

POOL_MODEL(pool_two_workers, .about = "two workers, two tasks", .preemptions = 1, .spurious = 0) {
    sys::atomic<int> ran{0};
    {
        thread_pool pool({.threads = 2});
        for (int i = 0; i < 2; ++i) (void)pool.post([&ran] { ran.fetch_add(1, sys::relaxed); });
    }
    check::that(ran.load(sys::relaxed) == 2, "both ran");
}

// Of three tasks one worker takes the first, and the others as its batch; the first waits for the second.
// No old values: it is about who looks when.
EKIDEN_MODEL(pool_batch_of_two, .load_buffering = false, .old_values = 0,
             .about = "another worker takes from the batch of one that is held up", .preemptions = 1,
             .spurious = 0, .weak_failures = 0, .timeouts = 0) {
    sys::atomic<std::uint32_t> done{0};
    thread_pool pool({.threads = 2});
    (void)pool.post([&done] {
        while (done.load(sys::relaxed) == 0) sys::futex_wait(done, 0);
    });
    (void)pool.post([&done] {
        done.store(1, sys::relaxed);
        sys::futex_wake_all(done);
    });
    (void)pool.post([] {});
    pool.wait_idle();
}

POOL_MODEL(pool_stop_against_post, .about = "a task that was accepted is run or abandoned, never lost",
           .preemptions = 2, .spurious = 0) {
    int ended = 0;
    {
        thread_pool pool({.threads = 1});
        sys::thread poster([&] { (void)pool.post(note(ended)); });
        pool.stop();
        poster.join();
    }
    check::that(ended == 1, "accepted or refused, the callable has ended");
}

// Into the queue that stop() looks at last: no fence but the gate's own release comes after that.
POOL_MODEL(pool_stop_while_busy, .about = "a busy worker finds what was accepted while stop closed the gate",
           .preemptions = 1, .spurious = 0) {
    int ended = 0;
    {
        sys::atomic<bool> has_stopped{false};
        thread_pool pool({.threads = 1});
        (void)pool.post([&has_stopped] {
            while (!has_stopped.load(sys::relaxed)) sys::yield();
        });
        sys::thread stopper([&] {
            pool.stop();
            has_stopped.store(true, sys::relaxed); // orders nothing
        });
        (void)pool.post(priority::low, note(ended));
        stopper.join();
    }
    check::that(ended == 1, "accepted or refused, the callable has ended");
}

POOL_MODEL(pool_metrics_while_it_stops, .about = "no more tasks have been abandoned than have ended",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    thread_pool pool({.threads = 1});
    pool.pause();
    (void)pool.post([] {});
    pool.stop();
    check::that(pool.metrics().tasks_run == 0, "the only task is abandoned");
}

POOL_MODEL(pool_pause_while_it_is_joined, .about = "a pool that is being joined refuses a pause",
           .preemptions = 2, .spurious = 0, .timeouts = 0) {
    int ran = 0;
    thread_pool pool({.threads = 1});
    (void)pool.post([&] {
        pool.pause();
        (void)pool.post([&ran] { ++ran; });
    });
    pool.join();
    check::that(ran == 1, "what was posted then ran");
}

POOL_MODEL(pool_pause_resume, .about = "no task that is posted after pause begins before resume",
           .preemptions = 2, .spurious = 0) {
    bool resumed =
        false; // the order in which things happen, not what is visible: no thread of the system races
    thread_pool pool({.threads = 1});
    pool.pause();
    future<bool> f = pool.submit([&resumed] { return resumed; });
    resumed = true;
    pool.resume();
    check::that(f.get(), "it began after resume");
}

POOL_MODEL(pool_resume_publishes,
           .about = "what was done before resume is visible to a task that waited for it", .preemptions = 1,
           .spurious = 0) {
    sys::cell<int> written{0};
    thread_pool pool({.threads = 1});
    pool.pause();
    future<void> f = pool.submit([&written] { check::that(written.read() == 1, "the write"); });
    written.write(1);
    pool.resume();
    f.get();
}

POOL_MODEL(pool_stop_while_paused, .about = "stop wakes a worker that is paused", .preemptions = 2,
           .spurious = 0) {
    thread_pool pool({.threads = 1});
    pool.pause();
    future<int> f = pool.submit([] { return 1; });
    pool.stop();
    bool canceled = false;
    try {
        (void)f.get();
    } catch (const std::system_error&) {
        canceled = true;
    }
    check::that(canceled, "a stopped pool abandons what was queued");
}

POOL_MODEL(pool_wait_in_worker, .about = "a worker that waits for its own task runs it", .preemptions = 2,
           .spurious = 0) {
    thread_pool pool({.threads = 1});
    future<int> outer = pool.submit([&pool] {
        future<int> inner = pool.submit([] { return 3; });
        return inner.get() + 1;
    });
    check::that(outer.get() == 4, "no deadlock in a pool of one");
}

POOL_MODEL(pool_wait_for_outside,
           .about = "a worker sleeps for a result from outside, and leaves nothing behind that is still used",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    promise<int> source;
    future<int> awaited = source.get_future();
    thread_pool pool({.threads = 1});
    sys::atomic<bool> has_begun{false};
    future<int> outer = pool.submit([&] {
        has_begun.store(true, sys::relaxed);
        return awaited.get() + 1;
    });
    while (!has_begun.load(sys::relaxed)) sys::yield();
    source.set_value(3);
    check::that(outer.get() == 4, "the value");
}

} // namespace pool_models
