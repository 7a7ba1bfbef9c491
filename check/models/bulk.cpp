// post_bulk(): the task of a bulk queues itself again before each call.
#include <check/models/pool_model.hpp>

#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/thread.hpp>

#include <array>
#include <cstddef>

namespace bulk_models {

namespace {

using namespace ekiden;

/// Counts the objects of this type that exist.
struct counted_copy {
    sys::atomic<int>* alive;

    explicit counted_copy(sys::atomic<int>& a) : alive(&a) { alive->fetch_add(1, sys::relaxed); }
    counted_copy(const counted_copy& other) : alive(other.alive) { alive->fetch_add(1, sys::relaxed); }
    ~counted_copy() { alive->fetch_sub(1, sys::relaxed); }
};

} // namespace

POOL_MODEL(pool_bulk, .about = "each call of a bulk is made once, whichever worker makes it",
           .preemptions = 1, .spurious = 0) {
    std::array<sys::atomic<int>, 3> calls{};
    {
        thread_pool pool({.threads = 2});
        (void)pool.post_bulk(calls.size(), [&](std::size_t i) { calls[i].fetch_add(1, sys::relaxed); });
        pool.wait_idle();
        for (const auto& c : calls) check::that(c.load(sys::relaxed) == 1, "each call was made once");
    }
}

POOL_MODEL(pool_bulk_of_one_worker, .about = "wait_idle sees the effects of all calls of a bulk",
           .preemptions = 1, .spurious = 0) {
    sys::cell<int> calls{0};
    thread_pool pool({.threads = 1});
    (void)pool.post_bulk(4, [&] { calls.write(calls.read() + 1); });
    pool.wait_idle();
    check::that(calls.read() == 4, "their effects are visible");
}

POOL_MODEL(pool_bulk_against_stop, .about = "stop() abandons the calls of a bulk that have not begun",
           .preemptions = 1, .spurious = 0) {
    std::array<sys::atomic<int>, 3> calls{};
    sys::atomic<int> alive{0};
    {
        thread_pool pool({.threads = 1});
        (void)pool.post_bulk(calls.size(), [&calls, counted = counted_copy(alive)](std::size_t i) {
            calls[i].fetch_add(1, sys::relaxed);
        });
        pool.stop();
    }
    for (std::size_t i = 0; i != calls.size(); ++i) {
        const int made = calls[i].load(sys::relaxed);
        check::that(made <= 1, "no call is made twice");
        check::that(i == 0 || made <= calls[i - 1].load(sys::relaxed), "one worker makes them in order");
    }
    check::that(alive.load(sys::relaxed) == 0, "every copy of the callable is destroyed");
}

// The pool is stopped inside the first call. So the executor refuses the task, which the run has offered.
POOL_MODEL(pool_bulk_stopped_by_a_call, .about = "a call of a bulk stops the pool", .preemptions = 1,
           .spurious = 0) {
    sys::atomic<int> calls{0};
    sys::atomic<int> alive{0};
    {
        thread_pool pool({.threads = 1});
        (void)pool.post_bulk(3, [&calls, &pool, counted = counted_copy(alive)] {
            if (calls.fetch_add(1, sys::relaxed) == 1) pool.stop();
        });
        while (calls.load(sys::relaxed) < 2) sys::yield();
    }
    check::that(calls.load(sys::relaxed) == 2, "no call is made after the stop");
    check::that(alive.load(sys::relaxed) == 0, "every copy of the callable is destroyed");
}

} // namespace bulk_models
