// Posts in two steps, to a strand on a loop, against the moment in which the loop has no more work.
#include <check/engine/model.hpp>

#include <ekiden/execution/detail/post_scope.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/loop/loop_pool.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/thread.hpp>

#include <memory>

namespace loop_posts_models {

namespace {

using namespace ekiden;

using loop_strand = strand<loop_context::executor_type>;

/// The function of a post from outside, behind which other functions wait.
constexpr auto nothing = [] {};

} // namespace

// The thread that makes the strand busy may be held up before it gives the drain to the loop.
#define LOOP_POSTS_MODEL(name, ...)                                                                          \
    EKIDEN_MODEL(name, .load_buffering = false, .old_values = 1, __VA_ARGS__, .preemptions = 2,              \
                 .spurious = 0, .timeouts = 0, .processors = 1)

LOOP_POSTS_MODEL(loop_post_behind_another, .about = "run() returns after a function behind another post") {
    sys::cell<int> ran{0};
    loop_context loop(check::choose(2) == 0 ? 1 : loop_context::many);
    const loop_context::executor_type executor = loop.get_executor();
    const loop_strand s(executor);
    executor.on_work_started();
    sys::thread runner([&loop] { (void)loop.run(); });
    sys::thread first([&s] { (void)s.post(nothing); });
    check::that(s.post([&ran] { ran.write(1); }), "the loop is open");
    executor.on_work_finished();
    runner.join();
    check::that(ran.read() == 1, "the function ran");
    first.join();
}

// The function stops the loop, so run() may return before the post has left its scope.
LOOP_POSTS_MODEL(loop_stopped_by_a_post,
                 .about = "a loop that a function stops is destroyed beside the post") {
    auto loop = std::make_unique<loop_context>(check::choose(2) == 0 ? 1 : loop_context::many);
    const loop_context::executor_type executor = loop->get_executor();
    const loop_strand s(executor);
    executor.on_work_started();
    sys::thread outside([&] { (void)s.post([&loop] { loop->stop(); }); });
    (void)loop->run();
    loop.reset();
    outside.join();
}

// In place of a strand: the flag says that the thread has pushed, and the task is the drain.
LOOP_POSTS_MODEL(loop_pool_joined_beside_a_post, .about = "join() waits for a thread that is in a scope") {
    sys::cell<int> ran{0};
    sys::atomic<bool> is_busy{false};
    loop_pool loops({.threads = 1});
    const loop_context::executor_type executor = loops.get_executor(0);
    sys::thread outside([&] {
        const post_scope posting(executor.context());
        is_busy.store(true, sys::release);
        check::that(executor.post([&ran] { ran.write(1); }), "the loop is open");
    });
    const bool is_behind = is_busy.load(sys::acquire);
    if (!is_behind) outside.join();
    loops.join();
    check::that(ran.read() == 1, "the function ran");
    if (is_behind) outside.join();
}

} // namespace loop_posts_models
