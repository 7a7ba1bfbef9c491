/// An event loop: a queue of tasks that run only on the threads that call run().
///
/// Part: loop. Used by: programs, loop_pool. The engines are private: solo_loop.hpp, shared_loop.hpp. The
/// protocols: loop.md.
///
/// Modeled on the io_context of the Networking TS (N4771, 14.2) in the form of Asio, without input and
/// output.
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

/// A queue of tasks, and the threads that run them. Each accepted task is run exactly once, or abandoned by
/// the destructor.
///
/// Order of the tasks: tasks are dequeued in the order of their posts, for all posting threads together.
/// While one thread runs the context, tasks also run in this order. A long task delays no other task, as long
/// as there is another thread inside.
///
/// Work is a task, queued or running, and what on_work_started() has announced. A pending timer calls
/// on_work_started(). A context without work stops: run() returns, and does nothing more before restart().
///
/// A task that waits for a result blocks its thread, which runs no other tasks meanwhile. If the thread is
/// also a worker of a pool, the pool knows that it is blocked. The same holds while run() waits for work.
///
/// In the child of a fork(), a context of the parent accepts and runs no more tasks. Posting and running
/// throw std::system_error(operation_not_permitted), and the destructor has no effect on the context. New
/// contexts work there. A task may fork if its child ends with exec or _exit. If the child returns from the
/// task, the process ends with a message.
///
/// Thread safety: all members except the destructor may be called concurrently. With the hint 1, however,
/// only one thread at a time may call the functions that run tasks (run... and poll...).
/// Ordering: everything before a post happens before the task runs.
class loop_context final : public execution_context {
public:
    /// The hint for any number of threads.
    static constexpr int many = std::numeric_limits<int>::max();

    /// Constructs a context. `concurrency_hint` is the number of threads that will run it. With 1, only one
    /// thread at a time runs it. Then nothing is locked, and a second thread inside ends the program with a
    /// message. With a larger hint, any number of threads run it. Throws std::invalid_argument if the hint is
    /// less than 1, and std::bad_alloc. In a simulation, it fails the run instead.
    explicit loop_context(int concurrency_hint = many);

    /// Shuts the services down. Then destroys the queued tasks without running them, and refuses what these
    /// post. No thread may be inside, post, or use what belongs to the context. A task or coroutine that runs
    /// in the context must not destroy it. That stops the program with a message that names the task or
    /// coroutine.
    ~loop_context() override;

    class executor_type;
    /// Returns a handle that accepts tasks for this context.
    [[nodiscard]] executor_type get_executor() noexcept;

    /// Runs tasks until the context stops, because of stop() or because it has no work. Returns the number of
    /// tasks that this call has run. A stopped context runs nothing, even if tasks are posted later: this
    /// returns 0 until restart(). A debug build prints a warning if the context stopped for lack of work and
    /// has tasks again. Exceptions of a task leave run(). They do not stop the context, and the next call
    /// continues. A task may call this function and all others. It counts as work while it does.
    std::size_t run();
    /// Runs tasks like run(), but at most one.
    std::size_t run_one();

    /// Runs tasks like run(), or until `limit` is reached. A task that runs at that time is not cut short. A
    /// deadline does not stop the context. A stop request calls stop(), so every thread leaves run(), and the
    /// context runs nothing before restart(). The same holds if the stop was requested before the call.
    std::size_t run(const wait_limit& limit);
    /// Runs tasks like run(limit), where the limit is a stop request. The request calls stop().
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
    /// Runs a task like run_one(limit), where the limit is a stop request. The request calls stop().
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

    /// Runs tasks until the queue is empty, and does not wait for more. Returns the number of tasks that this
    /// call has run. If there is no work then, the context stops.
    std::size_t poll();
    /// Runs tasks like poll(), but at most one.
    std::size_t poll_one();

    /// Stops the context. All calls of run... and poll... return as soon as their tasks do, and later calls
    /// return at once, until restart(). Tasks stay in the queue. But a thread that is between two tasks at
    /// this moment may begin one more.
    void stop() noexcept;
    /// Returns whether the context has stopped, because of stop() or because it had no work.
    [[nodiscard]] bool is_stopped() const noexcept;
    /// Ends the stop: run... and poll... run tasks again. No thread may be inside.
    void restart() noexcept;

    /// Returns whether the calling thread is inside run() or poll(), or a variant of them, of this context.
    [[nodiscard]] bool running_in_this_thread() const noexcept;

private:
    friend class loop_threads; // used by loop_pool

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

    // Used by executor_type.
    bool accept(task* accepted, task_order order);
    bool refuse(task* refused);
    void shut_down() noexcept;
    void work_started() noexcept;
    void work_finished() noexcept;
    void refuse_in_child(const char* operation) const;
    [[nodiscard]] bool is_in_forked_child() const noexcept { return generation_ != sys::fork_generation(); }

    static constexpr std::uint32_t ends = 1;  // the destructor has begun
    static constexpr std::uint32_t holds = 2; // stop() has been called, and restart() has not
    sys::atomic<std::uint32_t> gate_{0};
    const std::uint16_t generation_; // the fork generation
    // Exactly one of these is set.
    std::unique_ptr<solo_loop> solo_;
    std::unique_ptr<shared_loop> shared_;
};

/// A cheap handle that can be copied. Two handles are equal if they have the same context. Its operations are
/// those of task_sink. It must not be used after the context has been destroyed.
class loop_context::executor_type : public task_sink<executor_type> {
public:
    [[nodiscard]] loop_context& context() const noexcept { return *context_; }
    friend bool operator==(const executor_type&, const executor_type&) = default;

    /// Announces work elsewhere that will post its completion to the context. The context does not stop for
    /// lack of work before the same number of calls of on_work_finished(). That call may be the last use of
    /// the context by its thread. At most 2^25 - 1 announcements can be pending at a time. If
    /// on_work_finished() is called without a pending on_work_started(), the program ends with a message if
    /// this is detected: if no work is outstanding.
    void on_work_started() const noexcept { context_->work_started(); }
    void on_work_finished() const noexcept { context_->work_finished(); }

    /// Returns whether dispatch() would run its function at once.
    [[nodiscard]] bool running_in_this_thread() const noexcept { return context_->running_in_this_thread(); }

    /// Reports the exception: it leaves run() like an exception of a task.
    void report_unhandled(const char* type) const noexcept;

private:
    friend class loop_context;
    friend struct detail::sink_access;

    explicit executor_type(loop_context& context) noexcept : context_(&context) {}

    bool accept(task* accepted, task_order order) const { return context_->accept(accepted, order); }

    loop_context* context_;
};

inline loop_context::executor_type loop_context::get_executor() noexcept { return executor_type(*this); }

} // namespace ekiden::inline EKIDEN_ABI
