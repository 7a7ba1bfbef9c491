// A pool that grows and shrinks: the task that a blocked one waits for gets a thread, and nothing is lost
// when threads stand by, are hired again, or end.
#include <check/models/pool_model.hpp>

#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/futex.hpp>

namespace elastic_models {

namespace {

using namespace ekiden;

/// What a task waits for in the kernel.
class signal_flag {
public:
    void set() noexcept {
        word_.store(1, sys::release);
        sys::futex_wake_all(word_);
    }
    void wait() const noexcept {
        while (word_.load(sys::acquire) == 0) sys::futex_wait(word_, 0);
    }

private:
    sys::atomic<std::uint32_t> word_{0};
};

thread_pool_options elastic(unsigned threads, unsigned most) {
    return {.threads = threads,
            .max_threads = most,
            .keep_alive = std::chrono::milliseconds(1),
            .watch_interval = std::chrono::milliseconds(0)};
}

/// In a pool of one worker that may grow by one: the first task waits, by `wait(flag)`, for the second.
template <class Wait>
void first_waits_for_second(const thread_pool_options& options, Wait wait) {
    int ran = 0;
    {
        thread_pool pool(options);
        signal_flag done;
        (void)pool.post([&] {
            wait(done);
            ++ran;
        });
        (void)pool.post([&] {
            ++ran;
            done.set();
        });
        pool.wait_idle();
    }
    check::that(ran == 2, "both ran");
}

} // namespace

POOL_MODEL(elastic_block, .about = "a task in a blocking region waits for the one behind it",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    first_waits_for_second(elastic(1, 2), [](const signal_flag& done) { block([&] { done.wait(); }); });
}

POOL_MODEL(elastic_stand_by, .about = "a surplus thread stands by, is hired again or ends, while tasks come",
           .preemptions = 1, .spurious = 0) {
    int ran = 0;
    {
        thread_pool pool(elastic(1, 2));
        for (int i = 0; i != 2; ++i) {
            signal_flag done;
            (void)pool.post([&] {
                block([&] { done.wait(); });
                ++ran;
            });
            (void)pool.post([&] { done.set(); });
            pool.wait_idle();
        }
    }
    check::that(ran == 2, "both that blocked ran");
}

POOL_MODEL(elastic_hire, .about = "who stands by is hired at once, not when its time is over",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    constexpr auto long_time = std::chrono::hours(1);
    const auto start = sys::clock::now();
    {
        thread_pool_options options = elastic(1, 2);
        options.keep_alive = long_time;
        thread_pool pool(options);
        for (int i = 0; i != 2; ++i) {
            signal_flag done;
            (void)pool.post([&] { block([&] { done.wait(); }); });
            (void)pool.post([&] { done.set(); });
            pool.wait_idle();
        }
    }
    check::that(sys::clock::now() - start < long_time, "nobody slept until keep_alive was over");
}

POOL_MODEL(elastic_watch, .about = "the watch finds a task that blocks unannounced in front of another one",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    thread_pool_options options = elastic(1, 2);
    options.watch_interval = std::chrono::milliseconds(5);
    first_waits_for_second(options, [](const signal_flag& done) { done.wait(); });
}

// The second thread sleeps when the first one, which is one too many then, defers a task and retires.
POOL_MODEL(elastic_deferred, .about = "what a surplus thread has deferred is run although the thread ends",
           .preemptions = 1, .spurious = 0) {
    sys::cell<int> ran{0};
    thread_pool_options options = elastic(1, 2);
    options.keep_alive = std::chrono::milliseconds(0);
    thread_pool pool(options);
    signal_flag done;
    (void)pool.post([&] {
        block([&] { done.wait(); });
        (void)pool.get_executor().defer([&ran] { ran.write(1); });
    });
    (void)pool.post([&] { done.set(); });
    pool.wait_idle();
    check::that(ran.read() == 1, "the task ran");
}

// The first thread is one too many when its task ends. The pool is paused, so the thread retires although a
// task is in its deque.
POOL_MODEL(elastic_stop_after_retirement,
           .about = "after a stop, the last thread abandons the task in the deque of a retired thread",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    signal_flag second_runs;
    signal_flag is_paused;
    signal_flag first_has_retired;
    signal_flag has_stopped;
    thread_pool_options options = elastic(1, 2);
    options.keep_alive = std::chrono::milliseconds(0);
    options.on_thread_stop = [&](unsigned) { first_has_retired.set(); };
    thread_pool pool(options);
    (void)pool.post([&] {
        block([&] { is_paused.wait(); });
        (void)pool.post([] {});
    });
    (void)pool.post([&] {
        second_runs.set();
        has_stopped.wait();
    });
    second_runs.wait();
    pool.pause();
    is_paused.set();
    first_has_retired.wait();
    pool.stop();
    has_stopped.set();
    pool.join();
}

POOL_MODEL(elastic_deferred_before_it_blocks,
           .about = "what a task has deferred is run while it blocks, by a thread that slept",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    signal_flag done;
    thread_pool pool({.threads = 2});
    (void)pool.post([&] {
        (void)pool.get_executor().defer([&done] { done.set(); });
        block([&] { done.wait(); });
    });
    pool.wait_idle();
}

POOL_MODEL(elastic_deferred_while_it_blocks,
           .about = "what is deferred inside of a blocking region does not wait for its end",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    signal_flag done;
    thread_pool pool({.threads = 2});
    (void)pool.post([&] {
        const blocking_region region;
        (void)pool.get_executor().defer([&done] { done.set(); });
        done.wait();
    });
    pool.wait_idle();
}

POOL_MODEL(elastic_stop, .about = "stop while one is blocked and one stands by", .preemptions = 1,
           .spurious = 0) {
    signal_flag done;
    thread_pool pool(elastic(1, 2));
    (void)pool.post([&] { block([&] { done.wait(); }); });
    (void)pool.post([&] { done.set(); });
    done.set();
    pool.stop();
}

POOL_MODEL(elastic_leaves,
           .about = "a task blocks while a retired thread keeps its place: then it is replaced",
           .preemptions = 1, .spurious = 0) {
    signal_flag first;
    signal_flag leaves;
    signal_flag blocks;
    signal_flag second;
    thread_pool_options options = elastic(1, 2);
    options.keep_alive = std::chrono::milliseconds(0);
    options.on_thread_stop = [&](unsigned) {
        leaves.set();
        blocks.wait(); // meanwhile, the pool has no free place
    };
    thread_pool pool(options);
    (void)pool.post([&] { block([&] { first.wait(); }); });
    (void)pool.post([&] { first.set(); });
    leaves.wait();
    (void)pool.post([&] {
        block([&] {
            blocks.set();
            second.wait();
        });
    });
    (void)pool.post([&] { second.set(); });
    pool.wait_idle();
}

} // namespace elastic_models
