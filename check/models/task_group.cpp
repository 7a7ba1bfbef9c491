// task_group: wait() against the end of the last task, against tasks that others add meanwhile, against its
// own end, and against a limit.
#include <check/models/pool_model.hpp>

#include <ekiden/fork/detail/task_count.hpp>
#include <ekiden/fork/task_group.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>
#include <memory>

namespace task_group_models {

using namespace ekiden;
using ekiden::detail::task_count;

POOL_MODEL(group_wait, .about = "what the tasks of a group did is visible after wait", .preemptions = 1,
           .spurious = 0, .timeouts = 0) {
    sys::cell<int> written{0};
    thread_pool pool({.threads = 1});
    task_group group(pool);
    group.spawn([&written] { written.write(1); });
    group.wait();
    check::that(written.read() == 1, "the write");
}

POOL_MODEL(group_stop_is_seen,
           .about = "what was done before request_stop() is visible to a thread that sees it",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    thread_pool pool({.threads = 1});
    task_group group(pool);
    sys::cell<int> written{0};
    sys::thread stopper([&] {
        written.write(1);
        group.request_stop();
    });
    if (group.stop_requested()) check::that(written.read() == 1, "the write");
    stopper.join();
}

namespace {

void two_tasks_with_one_place(unsigned threads) {
    thread_pool pool({.threads = threads});
    task_group group(pool, {.concurrency = 1});
    int inside = 0;
    int ended = 0;
    const auto body = [&] {
        check::that(++inside == 1, "one task at a time");
        sys::yield();
        --inside;
        ++ended;
    };
    group.spawn(body);
    group.spawn(body);
    group.wait();
    check::that(ended == 2, "both tasks have run");
}

} // namespace

POOL_MODEL(group_limit, .about = "the second task of a group with one place follows the first",
           .preemptions = 1, .spurious = 0, .timeouts = 0) {
    two_tasks_with_one_place(2);
}

POOL_MODEL(group_limit_exceeded, .about = "a task begins although the group has no free place",
           .preemptions = 1, .spurious = 0, .timeouts = 0, .mutant = "group_exceeds_its_limit") {
    two_tasks_with_one_place(2);
}

POOL_MODEL(group_limit_forgets, .about = "a runner leaves a task in the queue", .preemptions = 1,
           .spurious = 0, .timeouts = 0, .mutant = "group_runner_leaves_the_queue") {
    two_tasks_with_one_place(1);
}

EKIDEN_MODEL(group_count_ends_after_wait, .about = "nobody touches a group whose wait has returned",
             .preemptions = 4) {
    auto tasks = std::make_unique<task_count>();
    sys::cell<int> first_written{0};
    sys::cell<int> second_written{0};
    tasks->add();
    tasks->add();
    sys::thread first([&first_written, all = tasks.get()] {
        first_written.write(1);
        all->end();
    });
    sys::thread second([&second_written, all = tasks.get()] {
        second_written.write(1);
        all->end();
    });
    (void)tasks->wait(wait_limit());
    check::that(first_written.read() == 1 && second_written.read() == 1, "what both did");
    tasks.reset();
    first.join();
    second.join();
}

EKIDEN_MODEL(group_count_against_others,
             .about = "a task that comes and goes while the last one of a wait ends", .preemptions = 4) {
    task_count tasks;
    sys::cell<int> written{0};
    sys::cell<int> also_written{0};
    tasks.add();
    sys::thread own([&] {
        written.write(1);
        tasks.end();
    });
    sys::thread outside([&] { // adds a task, and runs it too
        tasks.add();
        also_written.write(1);
        tasks.end();
    });
    (void)tasks.wait(wait_limit());
    check::that(written.read() == 1, "what was added before the wait is awaited");
    outside.join();
    (void)tasks.wait(wait_limit());
    check::that(also_written.read() == 1, "the other one too, in the end");
    own.join();
}

EKIDEN_MODEL(group_count_nested, .about = "a task that a task adds is waited for", .preemptions = 4) {
    task_count tasks;
    sys::cell<int> written{0};
    tasks.add();
    sys::thread spawned;
    sys::thread spawner([&] {
        tasks.add();
        spawned = sys::thread([&] {
            written.write(1);
            tasks.end();
        });
        tasks.end();
    });
    (void)tasks.wait(wait_limit());
    check::that(written.read() == 1, "the write of the task that a task has added");
    spawner.join();
    spawned.join();
}

EKIDEN_MODEL(group_count_against_a_limit, .about = "a wait that reaches its limit as the last task ends",
             .preemptions = 4) {
    auto tasks = std::make_unique<task_count>();
    sys::cell<int> written{0};
    tasks->add();
    sys::thread own([&written, all = tasks.get()] {
        written.write(1);
        all->end();
    });
    const auto limit = wait_limit::after(std::chrono::milliseconds(2));
    if (tasks->wait(limit) == task_count::wait_result::gave_up) (void)tasks->wait(wait_limit());
    check::that(written.read() == 1, "what the task did");
    tasks.reset();
    own.join();
}

} // namespace task_group_models
