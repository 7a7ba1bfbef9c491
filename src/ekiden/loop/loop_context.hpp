/// An event loop: a queue of tasks that run only on the threads that call run().
///
/// Part: loop. Used by: programs, and loop_pool. The two engines are in solo_loop.hpp and shared_loop.hpp,
/// and are private. The page loop.md explains the protocols.
///
/// Modeled on the io_context of the Networking TS (N4771, 14.2), in the form that Asio uses. A loop_context
/// has no input and output.
#pragma once

#include <ekiden/execution/detail/post_scope.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>

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

/// A queue of tasks, and the threads that run these tasks. Each accepted task is run exactly once, or is
/// abandoned by the destructor.
///
/// Tasks are dequeued in the order in which they were posted, even if different threads have posted them. If
/// only one thread runs the context, the tasks also run in this order. If several threads run the context, a
/// long task on one thread does not delay the other tasks.
///
/// A context has work while a task is queued or running, or while work is outstanding. A call of
/// on_work_started() announces outstanding work. A pending timer counts as outstanding work. A context
/// without work stops. When the context stops, run() returns. Later calls of run() run no tasks before
/// restart() is called.
///
/// A task that waits for a result blocks its thread. The thread runs no other tasks meanwhile. If the thread
/// is also a worker of a pool, the pool treats the worker as blocked. A pool also treats a worker as blocked
/// while the worker waits for work in run().
///
/// In the child of a fork(), a context of the parent process accepts and runs no more tasks. In the child,
/// post() and run() throw std::system_error(operation_not_permitted), and the destructor of such a context
/// has no effect. A context that is constructed in the child works normally. A task may call fork() if the
/// child process ends with exec or _exit. If the task returns in the child, the child ends with a message.
///
/// Thread safety: all members except the destructor may be called concurrently. However, if the concurrency
/// hint is 1, only one thread at a time may call a variant of run() or poll().
/// Ordering: everything that the posting thread did before a post happens before the task runs.
class loop_context final : public execution_context, private entrance {
public:
    /// The concurrency hint that allows any number of threads.
    static constexpr int many = std::numeric_limits<int>::max();

    /// Constructs a context. `concurrency_hint` is the number of threads that will run the context. With the
    /// hint 1, only one thread at a time may run the context. A context with the hint 1 uses no lock. If two
    /// threads run a context with the hint 1 at the same time, the program ends with a message. With a larger
    /// hint, any number of threads may run the context. Throws std::bad_alloc, and std::invalid_argument if
    /// the hint is less than 1. In a simulation, the constructor reports a failure of the simulated run.
    explicit loop_context(int concurrency_hint = many);

    /// A function can stop the context before its post to a strand or to lanes has returned. The destructor
    /// waits until such posts have returned. Then shuts the services down, and destroys the queued tasks
    /// without running them. If the destructor of a task posts another task, the context refuses this other
    /// task. If a post to a strand or to lanes destroys the context, the program ends with a message. During
    /// the destructor, no thread may run the context, post tasks to the context, or use its services. If a
    /// task or coroutine that runs in the context destroys the context, the program ends with a message that
    /// names the task or coroutine.
    ~loop_context() override;

    class executor_type;
    /// Returns a handle that accepts tasks for this context.
    [[nodiscard]] executor_type get_executor() noexcept;

    /// Runs tasks until the context stops. The context stops when stop() is called or when no work is left.
    /// Returns the number of tasks that this call has run. A stopped context runs no tasks, even if tasks are
    /// posted later. After a stop, run() returns 0 until restart() is called. A debug build prints a warning
    /// if run() is called after the context has stopped for lack of work and has got new tasks. If a task
    /// throws, run() throws the same exception. An exception does not stop the context, and the next call of
    /// run() continues. A task may call run() and all other functions of the context. A task that calls run()
    /// counts as work during this call.
    std::size_t run();
    /// Runs tasks like run(), but at most one.
    std::size_t run_one();

    /// Runs tasks like run(), but returns when `limit` is reached. A running task is not interrupted when the
    /// limit is reached. A deadline does not stop the context. A stop request calls stop(), so run() returns
    /// in every thread, and the context runs no tasks before restart(). A stop request before the call has
    /// the same effect as a stop request during the call.
    std::size_t run(const wait_limit& limit);
    /// Runs tasks like run(limit), where the limit is a stop request. The stop request calls stop().
    std::size_t run(std::stop_token token) { return run(wait_limit(std::move(token))); }
    /// Runs tasks like run(limit), where the limit is a duration.
    template <class Rep, class Period>
    std::size_t run_for(const std::chrono::duration<Rep, Period>& duration) {
        return run(wait_limit::after(duration));
    }
    /// Runs tasks like run(limit), where the limit is a deadline.
    template <class Clock, class Duration>
    std::size_t run_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return run(wait_limit::until(deadline));
    }

    /// Runs tasks like run(limit), but at most one. A stop request calls stop(), as in run(limit).
    std::size_t run_one(const wait_limit& limit);
    /// Runs a task like run_one(limit), where the limit is a stop request. The stop request calls stop().
    std::size_t run_one(std::stop_token token) { return run_one(wait_limit(std::move(token))); }
    /// Runs a task like run_one(limit), where the limit is a duration.
    template <class Rep, class Period>
    std::size_t run_one_for(const std::chrono::duration<Rep, Period>& duration) {
        return run_one(wait_limit::after(duration));
    }
    /// Runs a task like run_one(limit), where the limit is a deadline.
    template <class Clock, class Duration>
    std::size_t run_one_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return run_one(wait_limit::until(deadline));
    }

    /// Runs tasks until the queue is empty, and does not wait for more tasks. Returns the number of tasks
    /// that this call has run. If no work is left at the end, the context stops.
    std::size_t poll();
    /// Runs tasks like poll(), but at most one.
    std::size_t poll_one();

    /// Stops the context. All calls of run() and poll() return as soon as their current tasks have returned.
    /// Later calls return at once until restart() is called. Queued tasks stay in the queue. However, a
    /// thread that is between two tasks during stop() may begin one more task.
    void stop() noexcept;
    /// Returns whether the context has stopped, because stop() was called or because no work was left.
    [[nodiscard]] bool is_stopped() const noexcept;
    /// Ends the stop, so that run() and poll() run tasks again. No thread may be inside run() or poll()
    /// during this call.
    void restart() noexcept;

    /// Returns whether the calling thread is inside a variant of run() or poll() of this context.
    [[nodiscard]] bool running_in_this_thread() const noexcept;

private:
    friend class loop_threads; // a part of loop_pool

    template <class F>
    auto with_engine(F f) const;
    std::size_t run_within(const wait_limit& limit, std::size_t most);
    std::size_t do_run(const struct loop_request& request);
    void warn_if_left_stopped() noexcept;

    [[nodiscard]] bool adopt(alarm_clock& clock) noexcept override;
    void alarm_moved() noexcept override;
    [[nodiscard]] bool reserve_source(const void* kind) noexcept override;
    void adopt(event_source& source) noexcept override;
    [[nodiscard]] bool take_over(task* refused) override { return accept(refused, task_order::usual); }

    // The context does not stop for lack of work while a thread is in a post_scope.
    [[nodiscard]] way enter(bool) noexcept override;
    void leave(way) noexcept override;
    void count_own_scope(bool counts) noexcept;

    // Used by executor_type.
    bool accept(task* accepted, task_order order);
    bool refuse(task* refused);
    [[noreturn]] static void keep() noexcept;
    void shut_down() noexcept;
    void work_started() noexcept;
    void work_finished() noexcept;
    void refuse_in_child(const char* operation) const;

    static constexpr std::uint32_t ends = 1;  // the destructor has begun
    static constexpr std::uint32_t holds = 2; // stop() was called, and restart() has not been called since
    sys::atomic<std::uint32_t> gate_{0};
    sys::atomic<std::uint32_t> entered_{0}; // the number of threads that are in a post_scope of this context
    // Exactly one of the two engines is set.
    std::unique_ptr<solo_loop> solo_;
    std::unique_ptr<shared_loop> shared_;
};

/// A small handle of a context, with the operations of task_sink. Two handles are equal if they have the same
/// context. A handle must not be used after the context has been destroyed.
class loop_context::executor_type : public task_sink<executor_type> {
public:
    [[nodiscard]] loop_context& context() const noexcept { return *context_; }
    friend bool operator==(const executor_type&, const executor_type&) = default;

    /// Announces outstanding work, such as an operation that will post its completion to the context. The
    /// context does not stop for lack of work before on_work_finished() has been called once for each
    /// announcement. The last call of on_work_finished() may stop the context. After the stop, another thread
    /// may destroy the context, even before this call of on_work_finished() returns. At most 2^25 - 1
    /// announcements may be pending at a time. If on_work_finished() is called while no work is outstanding,
    /// the program ends with a message.
    void on_work_started() const noexcept { context_->work_started(); }
    void on_work_finished() const noexcept { context_->work_finished(); }

    /// Returns whether the calling thread is inside a variant of run() or poll() of the context. If the
    /// result is true, dispatch() calls its function at once.
    [[nodiscard]] bool running_in_this_thread() const noexcept { return context_->running_in_this_thread(); }

    /// Reports the current exception. A call of run() later throws this exception, like an exception of a
    /// task.
    void report_unhandled(const char* type) const noexcept;

private:
    friend class loop_context;
    friend struct detail::sink_access;

    explicit executor_type(loop_context& context) noexcept : context_(&context) {}

    bool accept(task* accepted, task_order order) const { return context_->accept(accepted, order); }
    void keep(task*) const noexcept { loop_context::keep(); }

    loop_context* context_;
};

inline loop_context::executor_type loop_context::get_executor() noexcept { return executor_type(*this); }

} // namespace ekiden::inline EKIDEN_ABI
