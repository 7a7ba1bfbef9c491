/// Peer: oneTBB. Detached tasks enter an arena by task_arena::enqueue, which its documentation recommends for
/// fire-and-forget work. Tasks that run in the arena spawn others by task_group::run, which is its fast path.
#pragma once

#include <lab/peers/promised_call.hpp>
#include <lab/peers/row.hpp>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <utility>

namespace lab::peers {

class onetbb {
public:
    static constexpr peers::row row{"onetbb", "oneTBB", 30};
    // All slots belong to oneTBB's own threads. The global limit also counts the submitting thread.
    explicit onetbb(unsigned workers)
        : limit_(tbb::global_control::max_allowed_parallelism, workers + 1),
          arena_(static_cast<int>(workers), 0) {}

    ~onetbb() {
        arena_.execute([this] { group_.wait(); });
    }

    template <class F>
    void post(F f) {
        arena_.enqueue(std::move(f));
    }

    template <class F>
    void spawn(F f) {
        group_.run(std::move(f));
    }

    // enqueue() needs copyable callables, so the promise stays on the caller's stack.
    template <class F>
    auto call(F f) {
        std::promise<decltype(f())> promise;
        arena_.enqueue([&promise, f] { promise.set_value(f()); });
        return promise.get_future().get();
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
    tbb::task_group group_;
};

/// oneTBB from inside. The caller is one of the threads, whose number is the number of workers. It spawns by
/// task_group::run, the fast path, and helps while it waits.
class onetbb_task_group {
public:
    static constexpr peers::row row{"onetbb-task-group", "oneTBB task_group", 31};

    explicit onetbb_task_group(unsigned workers)
        : limit_(tbb::global_control::max_allowed_parallelism, workers), arena_(static_cast<int>(workers)) {}

    template <class Body>
    void enter(Body body) {
        arena_.execute([&] {
            body();
            group_.wait();
        });
    }

    template <class F>
    void post(F f) {
        group_.run(std::move(f));
    }

    template <class F>
    auto call(F f) {
        decltype(f()) result{};
        group_.run([&] { result = f(); });
        group_.wait();
        return result;
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
    tbb::task_group group_;
};

} // namespace lab::peers
