// The whole pool, from the outside: one or two workers and the caller. Its parts have models of their own;
// these look for what only shows when they meet.
#include <check/engine/model.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/thread.hpp>

#include <system_error>

namespace {
using namespace ekiden;
}

/// With hints all over: loads of the sleepers' state that only decide whether to look closer. What such a
/// load reads too early does no harm, so load buffering is not reported.
#define HINTED_MODEL(name, ...) EKIDEN_MODEL(name, .load_buffering = false, __VA_ARGS__)

HINTED_MODEL(pool_post, .about = "a posted task runs before the pool ends", .preemptions = 2, .spurious = 0) {
    int ran = 0;
    {
        thread_pool pool({.threads = 1});
        check::that(pool.post([&ran] { ++ran; }), "a running pool accepts");
    }
    check::that(ran == 1, "the task ran once");
}

HINTED_MODEL(pool_submit, .about = "a result comes back through the future", .preemptions = 2,
             .spurious = 0) {
    thread_pool pool({.threads = 1});
    sys::cell<int> message{0};
    future<int> f = pool.submit([&message] {
        message.write(1);
        return 7;
    });
    check::that(f.get() == 7, "the value");
    check::that(message.read() == 1, "get orders what the task did");
}

HINTED_MODEL(pool_wait_idle, .about = "wait_idle returns after all that was posted, and what that posted",
             .preemptions = 2, .spurious = 0) {
    thread_pool pool({.threads = 1});
    sys::cell<int> done{0};
    (void)pool.post([&] { (void)pool.post([&] { done.write(1); }); });
    pool.wait_idle();
    check::that(done.read() == 1, "the effects are visible");
}

HINTED_MODEL(pool_two_workers, .about = "two workers, two tasks", .preemptions = 1, .spurious = 0) {
    sys::atomic<int> ran{0};
    {
        thread_pool pool({.threads = 2});
        for (int i = 0; i < 2; ++i) (void)pool.post([&ran] { ran.fetch_add(1, sys::relaxed); });
    }
    check::that(ran.load(sys::relaxed) == 2, "both ran");
}

HINTED_MODEL(pool_stop_against_post, .about = "a task that was accepted is run or abandoned, never lost",
             .preemptions = 2, .spurious = 0) {
    int ended = 0;
    bool accepted = false;
    {
        thread_pool pool({.threads = 1});
        struct note {
            int* ends;
            explicit note(int& e) : ends(&e) {}
            note(note&& other) noexcept : ends(std::exchange(other.ends, nullptr)) {}
            ~note() {
                if (ends != nullptr) ++*ends;
            }
            void operator()() const {}
        };
        sys::thread poster([&] { accepted = pool.post(note(ended)); });
        pool.stop();
        poster.join();
    }
    check::that(ended == 1, "accepted or refused, the callable has ended");
}

HINTED_MODEL(pool_pause_resume, .about = "no task that is posted after pause begins before resume",
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

HINTED_MODEL(pool_stop_while_paused, .about = "stop wakes a worker that is paused", .preemptions = 2,
             .spurious = 0) {
    thread_pool pool({.threads = 1});
    pool.pause();
    future<int> f = pool.submit([] { return 1; });
    pool.stop();
    bool cancelled = false;
    try {
        (void)f.get();
    } catch (const std::system_error&) {
        cancelled = true;
    }
    check::that(cancelled, "a stopped pool abandons what was queued");
}

HINTED_MODEL(pool_wait_in_worker, .about = "a worker that waits for its own task runs it", .preemptions = 2,
             .spurious = 0) {
    thread_pool pool({.threads = 1});
    future<int> outer = pool.submit([&pool] {
        future<int> inner = pool.submit([] { return 3; });
        return inner.get() + 1;
    });
    check::that(outer.get() == 4, "no deadlock in a pool of one");
}
