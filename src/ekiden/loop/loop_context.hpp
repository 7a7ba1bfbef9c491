/// An event loop: a queue of tasks that the threads run which call run(), and no others.
///
/// Part: loop. Used by: programs, loop_pool. The engines are private: solo_loop.hpp, shared_loop.hpp. The
/// protocols: loop.md.
///
/// After the io_context of the Networking TS (N4771, 14.2) as Asio has it, without input and output.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/fork.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

class solo_loop;
class shared_loop;

/// Thread-safe but for the destructor: any thread may call any function; with the hint 1, one thread at a
/// time those that run tasks (run... and poll...). A task that is accepted is run, or abandoned by the
/// destructor, exactly once, and what its poster did before is visible to it.
///
/// Order: with the hint 1 tasks are run in the order in which they were posted, whichever threads post.
/// Otherwise the tasks of each thread that posts are taken in its order: a task begins only after every task
/// that the same thread has posted before has been taken by a thread to be run next. Between the tasks of
/// different threads no order is promised; a thread inside takes up to 520 of one before it looks at the
/// next. (What a thread posts at its end, from destructors of thread_local objects, may come earlier.) A task
/// that takes long holds up no other one, as long as there is another thread inside.
///
/// Work: a task, queued or running, and what on_work_started() has announced (a pending timer does that). A
/// context that has no work stops: run() returns, and does nothing more before restart().
///
/// A task that waits for a result blocks its thread: it runs no other tasks meanwhile. If the thread is also
/// a worker of a pool, the pool knows that it is blocked; so does it while run() waits for work.
///
/// In the child of a fork() a context of the parent takes and runs no more tasks: what posts or runs throws
/// std::system_error(operation_not_permitted), the destructor leaves it alone. New contexts work there. A
/// task may fork if its child ends with exec or _exit: one that returns from the task ends the process with a
/// message.
class loop_context final : public execution_context {
public:
    /// The hint for any number of threads.
    static constexpr int many = std::numeric_limits<int>::max();
    /// How many threads can be inside at once if the hint is `many`, or lower than this but not 1. More of
    /// them wait outside until one leaves, or the context stops. Of a higher hint up to 1,023 count.
    static constexpr int usual_seats = 64;

    /// `concurrency_hint`: how many threads will run it. With 1, it is one at a time: nothing is locked then,
    /// and a second one inside ends the program with a message. Throws std::invalid_argument if it is less
    /// than 1, and std::bad_alloc. In a simulation it fails the run instead.
    explicit loop_context(int concurrency_hint = many);

    /// Shuts the services down, then destroys the tasks that are still queued, without running them: what
    /// these post is refused. No thread may be inside, nor post or use what belongs to the context. A task or
    /// coroutine that runs in it must not destroy it: that stops the program with a message that names it.
    ~loop_context() override;

    class executor_type;
    /// A handle through which tasks reach this context.
    [[nodiscard]] executor_type get_executor() noexcept;

    /// Runs tasks until the context stops, because of stop() or because it has no work; returns how many this
    /// call has run. A context that has stopped runs nothing, also if tasks are posted later: this returns 0
    /// until restart(). A debug build prints a warning if the context stopped for lack of work and has tasks
    /// again. What a task throws leaves run(): the context is not stopped by that, and the next call goes on.
    /// A task may call this and all the others itself; it is work for as long.
    std::size_t run();
    /// As run(), but runs at most one task.
    std::size_t run_one();

    /// As run(), but also returns when `limit` is reached. A task that runs then is not cut short. At the
    /// deadline of the limit the context does not stop. A stop request calls stop(), so every thread leaves
    /// run(), and the context runs nothing before restart(). This is also so if the stop was requested before
    /// the call.
    std::size_t run(const wait_limit& limit);
    /// As run(limit), for a stop request: it calls stop().
    std::size_t run(std::stop_token token) { return run(wait_limit(std::move(token))); }
    /// As run(limit), for at most `duration`.
    template <class Rep, class Period>
    std::size_t run_for(const std::chrono::duration<Rep, Period>& duration) {
        return run(wait_limit::after(duration));
    }
    /// As run(limit), until `deadline`.
    template <class Clock, class Duration>
    std::size_t run_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return run(wait_limit::until(deadline));
    }

    /// As run(limit), but runs at most one task. A stop request calls stop(), as in run(limit).
    std::size_t run_one(const wait_limit& limit);
    /// As run_one(limit), for a stop request: it calls stop().
    std::size_t run_one(std::stop_token token) { return run_one(wait_limit(std::move(token))); }
    /// As run_one(limit), for at most `duration`.
    template <class Rep, class Period>
    std::size_t run_one_for(const std::chrono::duration<Rep, Period>& duration) {
        return run_one(wait_limit::after(duration));
    }
    /// As run_one(limit), until `deadline`.
    template <class Clock, class Duration>
    std::size_t run_one_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return run_one(wait_limit::until(deadline));
    }

    /// Runs tasks while there are any, and returns how many; does not wait for more. If there is no
    /// work then, the context stops.
    std::size_t poll();
    /// As poll(), but at most one task.
    std::size_t poll_one();

    /// Has all run... and poll... return as soon as their tasks do, and later ones at once, until restart().
    /// Tasks stay in the queue, but a thread that is between two of them just now may begin one more.
    void stop() noexcept;
    /// Returns whether the context has stopped, because of stop() or because it had no work.
    [[nodiscard]] bool is_stopped() const noexcept;
    /// After it run... and poll... run tasks again. No thread may be inside.
    void restart() noexcept;

    /// Returns whether the calling thread is inside run() or poll(), or a variant of them, of this context.
    [[nodiscard]] bool running_in_this_thread() const noexcept;

private:
    friend class loop_threads; // of a loop_pool

    std::size_t run_within(const wait_limit& limit, std::size_t most);
    std::size_t do_run(const struct loop_request& request);
    void warn_if_left_stopped() noexcept;

    [[nodiscard]] bool adopt(alarm_clock& clock) noexcept override;
    void alarm_moved() noexcept override;
    [[nodiscard]] bool reserve_source(const void* kind) noexcept override;
    void adopt(event_source& source) noexcept override;
    [[nodiscard]] bool take_over(task* refused) override { return accept(refused, task_order::usual); }

    // For executor_type.
    bool accept(task* accepted, task_order order);
    bool refuse(task* refused);
    void shut_down() noexcept;
    void work_started() noexcept;
    void work_finished() noexcept;
    void refuse_in_child(const char* operation) const;
    [[nodiscard]] bool is_in_forked_child() const noexcept { return generation_ != sys::fork_generation(); }

    static constexpr std::uint32_t ends = 1;  // the destructor has begun; shared_loop refuses pushes by it
    static constexpr std::uint32_t holds = 2; // stop() has been called, and not restart()
    sys::atomic<std::uint32_t> gate_{0};
    const std::uint16_t generation_; // of forks
    // One of the two.
    std::unique_ptr<solo_loop> solo_;
    std::unique_ptr<shared_loop> shared_;
};

/// A cheap, copyable handle; equal if the context is the same. Its operations are those of task_sink. Must
/// not be used after the context's end.
class loop_context::executor_type : public task_sink<executor_type> {
public:
    [[nodiscard]] loop_context& context() const noexcept { return *context_; }
    friend bool operator==(const executor_type&, const executor_type&) = default;

    /// Work elsewhere has begun that will post its end to the context: the context does not stop for lack of
    /// work before as many calls of on_work_finished(), which may be the last that a thread does with it. At
    /// most 2^25 - 1 at a time. More calls of on_work_finished() than of on_work_started() end the program
    /// with a message if they are found, that is if no work is outstanding.
    void on_work_started() const noexcept { context_->work_started(); }
    void on_work_finished() const noexcept { context_->work_finished(); }

    /// Whether dispatch() would run its function at once.
    [[nodiscard]] bool running_in_this_thread() const noexcept { return context_->running_in_this_thread(); }

    // ---- for task_sink

    bool accept(task* accepted, task_order order) const { return context_->accept(accepted, order); }
    /// `inside`, if the caller runs it at once; null if it has been accepted or abandoned.
    [[nodiscard]] task* continue_with(task* inside) const {
        if (running_in_this_thread()) return inside;
        accept(inside, task_order::usual);
        return nullptr;
    }
    /// The exception leaves run(), as a task of its own.
    void report_unhandled(const char* type) const noexcept;

private:
    friend class loop_context;
    explicit executor_type(loop_context& context) noexcept : context_(&context) {}

    loop_context* context_;
};

inline loop_context::executor_type loop_context::get_executor() noexcept { return executor_type(*this); }

} // namespace ekiden::inline EKIDEN_ABI
