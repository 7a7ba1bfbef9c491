// Where the whole pool's protocols meet: its end while a post returns, a pause while a worker waits, work
// elsewhere while it is joined, a thread's end that posts.
#include <check/models/pool_model.hpp>

#include <ekiden/future/promise.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/pool/detail/work_source.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/parker.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/topology.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace pool_seams_models {

namespace {

using namespace ekiden;

/// A task elsewhere that ends by posting to the pool.
sys::thread work_elsewhere(thread_pool::executor_type executor, sys::cell<int>& ran) {
    executor.on_work_started();
    return sys::thread([executor, &ran] {
        check::that(executor.post([&ran] { ran.write(1); }), "what the work posts is accepted");
        executor.on_work_finished();
    });
}

/// Has no work; each look at it reads what its constructor has written.
class idle_source final : public work_source {
public:
    [[nodiscard]] bool has_work() const noexcept override { return made_.read() != 1; }
    [[nodiscard]] task* find(unsigned) noexcept override {
        check::that(!has_work(), "made whole");
        return nullptr;
    }
    void ask() noexcept override { check::that(!has_work(), "made whole"); }

private:
    sys::cell<int> made_{1};
};

/// Counts up without ordering anything; those who wait sleep.
class unordered_count {
public:
    void add() noexcept {
        value_.fetch_add(1, sys::relaxed);
        sys::futex_wake_all(value_);
    }
    void wait_for(std::uint32_t most) noexcept {
        for (std::uint32_t now = 0; (now = value_.load(sys::relaxed)) < most;) sys::futex_wait(value_, now);
    }

private:
    sys::atomic<std::uint32_t> value_{0};
};

/// Has no work. Pauses the pool when a worker that waits has seen the gate open, and has not looked
/// everywhere yet; holds that worker up when it looks again, paused.
class pausing_source final : public work_source {
public:
    /// By the task that is about to wait.
    void begin(thread_pool& pool) { pool_ = &pool; }

    unordered_count held_up; ///< the worker is
    unordered_count let_go;  ///< it may go on

    [[nodiscard]] bool has_work() const noexcept override { return false; }
    [[nodiscard]] task* find(unsigned) noexcept override {
        if (pool_ == nullptr) return nullptr;
        switch (looks_++) {
        case 0:
            pool_->pause();
            break;
        case 1:
            held_up.add();
            let_go.wait_for(1);
            break;
        default:
            break;
        }
        return nullptr;
    }
    void ask() noexcept override {}

private:
    thread_pool* pool_ = nullptr;
    int looks_ = 0;
};

} // namespace

EKIDEN_MODEL(pool_ends_during_post, .load_buffering = false, .old_values = 0,
             .about = "a pool may end as soon as the effect of its last task is seen", .preemptions = 1,
             .spurious = 0, .timeouts = 0) {
    sys::parker ran;
    auto pool = std::make_unique<thread_pool>(thread_pool_options{.threads = 1});
    sys::thread poster([&ran, p = pool.get()] { (void)p->post([&ran] { ran.unpark(); }); });
    ran.park();
    pool.reset();
    poster.join();
}

POOL_MODEL(pool_source_while_it_searches,
           .about = "a work source is added while a worker looks for work, and is seen whole",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    std::unique_ptr<idle_source> source; // outlives the pool's threads
    thread_pool pool({.threads = 1});
    source = std::make_unique<idle_source>();
    engine_of(pool).set_source(*source);
}

POOL_MODEL(pool_pause_in_wait, .about = "a task that waits for a result gets it while the pool is paused",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    promise<int> source;
    future<int> awaited = source.get_future();
    thread_pool pool({.threads = 1});
    sys::atomic<bool> has_begun{false};
    sys::cell<int> ran{0};
    future<int> running = pool.submit([&] {
        has_begun.store(true, sys::relaxed);
        return awaited.get() + 1;
    });
    while (!has_begun.load(sys::relaxed)) sys::yield();
    (void)pool.post([&ran] { ran.write(1); });
    pool.pause();
    source.set_value(3);
    check::that(running.get() == 4, "the value");
    pool.resume();
    pool.wait_idle();
    check::that(ran.read() == 1, "what it had put back ran later");
}

// The worker that the post has woken is held up until after resume(): that takes no preemption.
EKIDEN_MODEL(pool_resume_publishes_to_a_wait, .load_buffering = false, .old_values = 0,
             .about = "what was done before resume is visible to a task that a worker runs while it waits",
             .preemptions = 0, .spurious = 0, .timeouts = 0) {
    promise<int> source;
    future<int> awaited = source.get_future();
    sys::cell<int> written{0};
    sys::atomic<bool> has_begun{false};
    thread_pool pool({.threads = 1});
    future<int> running = pool.submit([&] {
        has_begun.store(true, sys::relaxed);
        return awaited.get() + 1;
    });
    while (!has_begun.load(sys::relaxed)) sys::yield();
    pool.pause();
    future<void> seen = pool.submit([&written] { check::that(written.read() == 1, "the write"); });
    written.write(1);
    pool.resume();
    seen.get();
    source.set_value(3);
    check::that(running.get() == 4, "the value");
}

// What the other worker sees of the task it sees through the place where it was put: it resumes the pool
// itself, finds nobody asleep, and does not look before into the queue that the task was posted to.
EKIDEN_MODEL(pool_put_back_for_another, .load_buffering = false, .old_values = 0,
             .about = "a task that a waiting worker puts back is run by another one, and is seen whole",
             .preemptions = 0, .spurious = 0, .timeouts = 0) {
    pausing_source pauses; // outlives the pool's threads
    promise<void> source;
    future<void> awaited = source.get_future();
    sys::cell<int> written{0};
    unordered_count busy;
    unordered_count run;
    thread_pool pool({.threads = 2});
    engine_of(pool).set_source(pauses);
    const auto late = [&] {
        check::that(written.read() == 1, "the write");
        run.add();
    };
    const auto waits = [&] {
        busy.wait_for(1);
        written.write(1);
        (void)pool.post(priority::low, late); // looked for behind the sources
        pauses.begin(pool);
        awaited.get();
    };
    const auto resumes = [&] {
        busy.add();
        pauses.held_up.wait_for(1);
        pool.resume();
        pauses.let_go.add();
    };
    (void)pool.post(priority::high, waits); // one at a time, so each worker has one
    (void)pool.post(priority::high, resumes);
    run.wait_for(1);
    source.set_value();
}

POOL_MODEL(pool_join_sees_work_elsewhere, .about = "what work elsewhere has done is visible after join",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    sys::cell<int> written{0};
    thread_pool pool({.threads = 1});
    const auto executor = pool.get_executor();
    executor.on_work_started();
    sys::thread elsewhere([&] {
        written.write(1);
        executor.on_work_finished();
    });
    pool.join();
    check::that(written.read() == 1, "the write");
    elsewhere.join();
}

// Two old values: that what the work has posted is not seen takes as many.
EKIDEN_MODEL(pool_outstanding_work, .load_buffering = false, .old_values = 2,
             .about = "join waits for work elsewhere, and for what that posts", .preemptions = 1,
             .spurious = 0) {
    sys::cell<int> ran{0};
    thread_pool pool({.threads = 1});
    sys::thread elsewhere = work_elsewhere(pool.get_executor(), ran);
    pool.join();
    check::that(ran.read() == 1, "the task ran");
    elsewhere.join();
}

POOL_MODEL(pool_work_during_join, .about = "work that a task begins while the pool is joined counts as well",
           .preemptions = 1, .spurious = 0) {
    sys::cell<int> ran{0};
    std::optional<sys::thread> elsewhere;
    thread_pool pool({.threads = 1});
    (void)pool.post([&] { elsewhere.emplace(work_elsewhere(pool.get_executor(), ran)); });
    pool.join();
    check::that(ran.read() == 1, "the task ran");
    elsewhere->join();
}

POOL_MODEL(pool_join_sees_what_was_begun, .about = "join waits for work that a task began just before",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    sys::cell<int> written{0};
    sys::atomic<bool> has_begun{false};
    std::optional<sys::thread> elsewhere;
    thread_pool pool({.threads = 1});
    const auto executor = pool.get_executor();
    (void)pool.post([&] {
        executor.on_work_started();
        has_begun.store(true, sys::relaxed); // orders nothing
        elsewhere.emplace([&] {
            written.write(1);
            executor.on_work_finished();
        });
    });
    while (!has_begun.load(sys::relaxed)) sys::yield();
    pool.join();
    check::that(written.read() == 1, "the write");
    elsewhere->join();
}

POOL_MODEL(pool_stop_during_join, .about = "stop ends a join that waits for work elsewhere, or is about to",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    thread_pool pool({.threads = 1});
    const auto executor = pool.get_executor();
    executor.on_work_started(); // ends after the join
    sys::thread stopper([&pool] { pool.stop(); });
    pool.join();
    stopper.join();
    executor.on_work_finished();
}

EKIDEN_MODEL(
    pool_stop_during_a_post_of_work, .load_buffering = false, .old_values = 0,
    .about = "what work elsewhere posts while the pool stops is refused, or abandoned before join ends",
    .preemptions = 1, .spurious = 0, .timeouts = 0) {
    thread_pool pool({.threads = 1});
    const auto executor = pool.get_executor();
    executor.on_work_started();
    sys::thread elsewhere([&executor] {
        (void)executor.post([] {});
        executor.on_work_finished();
    });
    pool.stop();
    pool.join();
    elsewhere.join();
}

// The place of the worker that has ended may have another thread already.
// The state of a std::stop_source is not the checker's, which sees the word that the request changes.
POOL_MODEL(pool_wait_idle_gives_up, .about = "a stop request ends wait_idle, which sleeps or is about to",
           .preemptions = 2, .spurious = 0) {
    sys::atomic<std::uint32_t> goes{0};
    thread_pool pool({.threads = 1});
    (void)pool.post([&goes] {
        while (goes.load(sys::relaxed) == 0) sys::futex_wait(goes, 0);
    });
    std::stop_source source;
    sys::thread stopper([&source] { (void)source.request_stop(); });
    check::that(!pool.wait_idle(source.get_token()), "a task runs");
    stopper.join();
    goes.store(1, sys::relaxed);
    sys::futex_wake_all(goes);
    pool.wait_idle();
}

POOL_MODEL(pool_join_gives_up, .about = "a stop request ends a join that waits for work elsewhere",
           .preemptions = 2, .spurious = 0) {
    sys::cell<int> ran{0};
    thread_pool pool({.threads = 1});
    const auto executor = pool.get_executor();
    executor.on_work_started();
    std::stop_source source;
    sys::thread stopper([&source] { (void)source.request_stop(); });
    check::that(!pool.join(source.get_token()), "work is outstanding");
    stopper.join();
    check::that(executor.post([&ran] { ran.write(1); }), "what the work posts is accepted");
    executor.on_work_finished();
    pool.join();
    check::that(ran.read() == 1, "the next join waits for it");
}

POOL_MODEL(elastic_end_of_thread_posts, .about = "what a retired worker's thread posts comes from outside",
           .preemptions = 0, .spurious = 0) {
    sys::atomic<int> ran{0};
    int expected = 0;
    {
        thread_pool pool({.threads = 1,
                          .max_threads = 2,
                          .keep_alive = std::chrono::milliseconds(0),
                          .watch_interval = std::chrono::milliseconds(0)});
        struct late {
            thread_pool& pool;
            sys::atomic<int>& ran;
            int accepted = 0;
        } last{pool, ran};
        pool.submit([&] {
                const blocking_region region;
                (void)sys::at_thread_exit(
                    [](void* argument) {
                        auto& self = *static_cast<late*>(argument);
                        check::that(!self.pool.running_in_this_thread(), "the thread is no worker any more");
                        if (self.pool.post([&ran = self.ran] { ran.fetch_add(1, sys::relaxed); }))
                            ++self.accepted;
                    },
                    &last);
            })
            .get();
        pool.join();
        expected = last.accepted;
    }
    check::that(ran.load(sys::relaxed) == expected, "what was accepted ran, once");
}

} // namespace pool_seams_models
