// The loops of a pool: a thread waits until none is busy, against tasks and outstanding work that move from
// loop to loop, a stop, and the end of the pool.
#include <check/engine/model.hpp>
#include <ekiden/loop/detail/solo_loop.hpp>
#include <ekiden/sys/thread.hpp>

#include <memory>
#include <stop_token>

namespace loop_pool_models {

using namespace ekiden;

namespace {

struct pool;

/// A task that calls a function with its pool, and is not freed.
class plain_task final : public task {
public:
    using function = void (*)(pool& in);
    explicit plain_task(pool& in, function f) : task(&answer), in_(in), f_(f) {}

private:
    static const char* answer(task* self, task_request request) {
        auto* const here = static_cast<plain_task*>(self);
        if (request == task_request::run) here->f_(here->in_);
        return nullptr;
    }
    pool& in_;
    function f_;
};

/// As a loop_pool with two threads: its join() is wait(), its destructor end().
struct pool {
    explicit pool(plain_task::function first, plain_task::function second)
        : on_first(*this, first), on_second(*this, second) {
        one.enter_pool(busy);
        two.enter_pool(busy);
    }
    void begin() {
        threads[0] = sys::thread([this] { live(one); });
        threads[1] = sys::thread([this] { live(two); });
    }
    void wait() { check::that(busy.await_none(wait_limit()), "a wait without a limit does not give up"); }
    void stop() {
        one.stop();
        two.stop();
    }
    void end() {
        stop();
        for (sys::thread& t : threads) t.join();
        check::that(one.is_empty() && two.is_empty(), "no thread is inside");
    }
    static void live(solo_loop& loop) {
        (void)loop.run({});
        loop.leave_pool();
    }

    busy_loops busy;
    solo_loop one{context_id::next()};
    solo_loop two{context_id::next()};
    plain_task on_first;
    plain_task on_second;
    sys::cell<int> ran{0};
    sys::cell<int> ended{0};
    sys::thread threads[2];
    sys::thread elsewhere;
};

void count(pool& in) { in.ran.write(in.ran.read() + 1); }

void post_to_second(pool& in) { in.two.push(&in.on_second); }

/// A thread that is none of the pool's ends the work that a task has begun on another loop.
void begin_on_second(pool& in) {
    in.two.work_started();
    in.elsewhere = sys::thread([&in] {
        in.two.push(&in.on_second);
        in.ended.write(1);
        in.two.work_finished();
    });
}

} // namespace

/// The loads that only decide whether to look closer are hints, so load buffering is not reported. One
/// processor: a loop does not spin before it sleeps.
#define LOOPS_MODEL(name, ...)                                                                               \
    EKIDEN_MODEL(name, .load_buffering = false, .old_values = 1, __VA_ARGS__, .preemptions = 2,              \
                 .spurious = 0, .timeouts = 0, .processors = 1)

LOOPS_MODEL(loop_pool_task_moves, .about = "what a task posts to a loop that sleeps is waited for") {
    const auto loops = std::make_unique<pool>(post_to_second, count);
    loops->one.push(&loops->on_first);
    loops->begin();
    loops->wait();
    check::that(loops->ran.read() == 1, "the task was run, and that is visible");
    loops->end();
}

LOOPS_MODEL(
    loop_pool_work_moves,
    .about = "work that a task begins on another loop, and a thread of the program ends, is waited for") {
    const auto loops = std::make_unique<pool>(begin_on_second, count);
    loops->one.push(&loops->on_first);
    loops->begin();
    loops->wait();
    check::that(loops->ran.read() == 1, "the task was run, and that is visible");
    check::that(loops->ended.read() == 1, "and so is what came before the end of the work");
    loops->elsewhere.join();
    loops->end();
}

LOOPS_MODEL(loop_pool_stranger,
            .about = "a thread that is not waited for makes a loop busy, to which a task posts meanwhile") {
    const auto loops = std::make_unique<pool>(post_to_second, count);
    loops->one.push(&loops->on_first);
    sys::thread stranger([&loops] {
        loops->two.work_started();
        loops->two.work_finished();
    });
    loops->begin();
    loops->wait();
    check::that(loops->ran.read() == 1, "the task was run, and that is visible");
    stranger.join();
    loops->end();
}

LOOPS_MODEL(loop_pool_stopped, .about = "a stop ends the wait, although work is outstanding") {
    const auto loops = std::make_unique<pool>(post_to_second, count);
    loops->two.work_started();
    loops->one.push(&loops->on_first);
    loops->begin();
    sys::thread stopper([&loops] { loops->stop(); });
    loops->wait();
    stopper.join();
    loops->end();
    check::that(loops->ran.read() <= 1, "at most once");
}

// The state of a std::stop_source is not the checker's, which sees the word that the request changes.
LOOPS_MODEL(loop_pool_gives_up, .about = "a stop request ends the wait, and a later wait sees the end") {
    const auto loops = std::make_unique<pool>(count, count);
    loops->two.work_started();
    loops->begin();
    std::stop_source source;
    sys::thread stopper([&] { (void)source.request_stop(); });
    check::that(!loops->busy.await_none(wait_limit(source.get_token())), "work is outstanding");
    stopper.join();
    sys::thread worker([&loops] {
        loops->two.push(&loops->on_second);
        loops->two.work_finished();
    });
    loops->wait();
    check::that(loops->ran.read() == 1, "the task was run, and that is visible");
    worker.join();
    loops->end();
}

LOOPS_MODEL(loop_pool_one_stopped, .about = "a loop that was stopped by itself is not waited for") {
    const auto loops = std::make_unique<pool>(post_to_second, count);
    loops->one.push(&loops->on_first);
    loops->two.work_started();
    loops->two.stop();
    loops->begin();
    loops->wait();
    loops->end();
    loops->two.work_finished();
    check::that(loops->ran.read() == 0, "it runs nothing");
}

} // namespace loop_pool_models
