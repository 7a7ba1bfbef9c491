/// A pool of threads that runs tasks. Workers steal tasks from each other. Threads outside the pool post
/// tasks into rings.
///
/// Part: pool. Used by: programs, async, fork. The implementation is in the private headers scheduler.hpp and
/// worker.hpp.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/priority.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/observe/histogram_snapshot.hpp>
#include <ekiden/pool/slow_task.hpp>
#include <ekiden/pool/stall.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

class scheduler;
class thread_pool;

/// The processors on which the workers may run.
enum class placement : std::uint8_t {
    none,    ///< the system chooses a processor for each worker
    compact, ///< worker i runs on usable processor i, modulo the number of processors
    numa,    ///< each worker runs on one NUMA node; the workers are spread evenly over the nodes
};

/// The options of a thread_pool. No duration may be negative.
struct thread_pool_options {
    /// The largest accepted number of threads.
    static constexpr unsigned most_threads = 4096;
    /// The largest accepted spin_time.
    static constexpr std::chrono::microseconds longest_spin = std::chrono::seconds(10);

    /// How many workers, at most 4,096. The value 0 means one per usable processor.
    unsigned threads = 0;
    std::string name = "ekiden";                   ///< the threads are named name-0, name-1 and so on
    ekiden::placement placement = placement::none; ///< A hint, which the system may refuse.
    /// The largest number of threads while some threads are blocked. A thread counts as blocked in a
    /// blocking_region. A thread also counts as blocked if the watch finds that the thread blocks outside of
    /// a blocking_region. The value 0 means that the limit is `threads`. Other values are `threads` to 4,096.
    /// See elastic.md.
    unsigned max_threads = 0;
    std::chrono::milliseconds keep_alive{10'000}; ///< How long a surplus thread stays unused before it ends.
    /// The number of bytes at the end of each worker's stack in which no further task begins inside a wait. A
    /// worker that waits for a result usually runs other tasks, and these tasks may wait too. If less than
    /// `stack_reserve` is left, the worker only sleeps, and other workers run the tasks. An elastic pool
    /// starts another thread meanwhile. If every worker sleeps in this way while tasks are queued, the pool
    /// calls `on_stall` with the number of nested waits. stop() ends such a stall.
    ///
    /// The value must exceed the stack that a single task needs. The value 0 means an eighth of the stack,
    /// but at most 1 MiB. If the reserve is as large as the stack, no worker runs tasks inside a wait. A
    /// thread outside of the pool that takes part in fork-join has the default reserve. In the reserve, this
    /// thread runs no stolen call while it waits for a call.
    std::size_t stack_reserve = 0;
    /// The interval at which the pool checks for workers that block outside of a blocking_region. A separate
    /// thread, the watch, makes these checks. The pool has a watch if `max_threads` is above `threads`, or if
    /// `on_stall`, `slow_task_time` or `queue_delay_limit` is set. If the interval is 0, the pool has no
    /// watch and makes no checks.
    std::chrono::milliseconds watch_interval{10};
    /// How long every idle worker searches for work before it sleeps. A searching worker occupies its
    /// processor, like an OpenMP thread that spins between two parallel regions. Set this option if the
    /// program runs short parallel loops in quick succession, because a wake-up takes longer than a short
    /// loop. With 0, only one worker at a time searches, and it gives up after 20 us.
    std::chrono::microseconds spin_time{0};
    /// The handler for the exceptions that tasks without a future throw. The worker calls the handler with
    /// the exception and with the name of the callable's type. The handler must not throw. If the handler is
    /// empty, the pool prints both arguments to standard error and calls std::terminate.
    std::function<void(std::exception_ptr, std::string_view)> on_unhandled_exception = {};
    /// The handler for a pool that makes no progress. The handler is called once each time the pool stops
    /// making progress. If the pool is saturated, the watch calls the handler. If tasks wait for each other
    /// in a cycle, the worker whose wait closes the cycle calls the handler. If the stacks of all workers are
    /// too deep, the last of these workers calls the handler. The handler must not throw, and must not wait
    /// for the pool. If the handler is empty, the pool prints deadlocks and deep stacks to standard error.
    std::function<void(const stall_report&)> on_stall = {};
    /// Each thread of the pool calls this function with its index before its first task. The function can set
    /// up the thread: its name, its priority, its processors, or thread_local objects. Threads call the
    /// function concurrently. A thread may call it before the constructor of the pool has returned, so the
    /// function must not use the pool. If the function throws, `on_unhandled_exception` gets the exception
    /// and the text "on_thread_start", and the thread then runs tasks as usual.
    std::function<void(unsigned)> on_thread_start = {};
    /// Each thread calls this function with its index after its last task, even if `on_thread_start` has
    /// thrown. The thread calls this function before the destructors of its thread_local objects. If the pool
    /// starts another thread with the same index, that thread calls `on_thread_start` later. The function may
    /// post to the pool, but must not wait for it. join() waits for the function. Exceptions are reported
    /// like exceptions of `on_thread_start`, with the text "on_thread_stop".
    std::function<void(unsigned)> on_thread_stop = {};
    /// A task is slow if it has run for longer than this time. The time includes waits of the task. The watch
    /// finds slow tasks, so a task is reported up to two times `watch_interval` later. Other tasks pay
    /// nothing, because they read no clock. If the time is 0, no task is reported.
    ///
    /// A task of a coroutine ends when the coroutine begins to wait. The tasks of a strand or lane that run
    /// one after the other without interruption count as one task.
    std::chrono::milliseconds slow_task_time{0};
    /// The handler for slow tasks. The watch calls the handler once for each slow task, usually while the
    /// task still runs. The handler must not throw, and must not wait for the pool. A flight_recorder can
    /// save what the threads have done before. If the handler is empty, the pool prints the report to
    /// standard error.
    std::function<void(const slow_task_report&)> on_slow_task = {};
    /// The number of a signal, such as SIGURG, with which the watch reads the call stack of a slow task. If
    /// the value is 0, the report has no call stack. The signal interrupts system calls of the task, such as
    /// nanosleep(), which then report EINTR. The pool installs a handler for this signal, which stays
    /// installed until the program ends. The constructor refuses a signal for which the program has a
    /// handler.
    int stack_signal = 0;
    /// A delay in the queue is long if it exceeds this limit by at least a quarter. The pool measures the
    /// delay of every 64th task of each producer. If the limit is 0, no delay is reported.
    std::chrono::milliseconds queue_delay_limit{0};
    /// The handler for long delays. The watch calls the handler if delays above the limit were measured since
    /// the last check. The argument is the longest of these delays, rounded down by at most a fifth. The
    /// handler must not throw, and must not wait for the pool.
    std::function<void(std::chrono::nanoseconds)> on_queue_delay = {};
    /// The interval at which a pool with `threads` 0 follows the usable processors, like a call of
    /// follow_processors(). The watch reads their number, but not while all workers sleep. If the interval is
    /// 0, the pool follows only if the program calls follow_processors().
    std::chrono::milliseconds follow_interval{0};
    /// The smallest number of threads of a pool with `threads` 0. From 1 to 4,096.
    unsigned least_threads = 1;
    /// The largest number of threads of a pool with `threads` 0 while no thread is blocked. The value 0 means
    /// the number of processors in the affinity mask of the process at the start of the pool. Other values
    /// are `least_threads` to 4,096.
    unsigned upper_threads = 0;
};

/// Counts what the workers have done since the pool was started. The numbers are not a snapshot of one
/// moment, because they are read one after the other while the pool runs.
struct thread_pool_metrics {
    unsigned threads = 0;              ///< the current number of threads
    unsigned threads_wanted = 0;       ///< the result of thread_pool::thread_count()
    std::uint64_t threads_adapted = 0; ///< how often this number has followed the usable processors
    unsigned peak_threads = 0;         ///< the largest number of threads so far
    unsigned threads_at_work = 0;      ///< threads that run a task or search for one
    unsigned threads_blocked = 0;      ///< threads in a blocking_region, or which the watch has found blocked
    unsigned threads_standing_by = 0;  ///< surplus threads that sleep until other threads block
    bool is_saturated = false;         ///< true if there are `max_threads` threads, and all are blocked
    std::uint64_t threads_refused = 0; ///< how often the system refused to start a replacement thread
    std::uint64_t stalls = 0;          ///< the number of reports to thread_pool_options::on_stall
    std::uint64_t slow_tasks = 0;      ///< the number of reports to thread_pool_options::on_slow_task
    std::uint64_t tasks_run = 0;       ///< finished tasks, including canceled tasks and stolen forked calls
    std::uint64_t tasks_abandoned = 0; ///< tasks that stop() dropped
    std::uint64_t tasks_pending = 0;   ///< tasks that are currently queued or running
    std::uint64_t stolen = 0;          ///< tasks taken from another worker's deque
    std::uint64_t injected = 0;        ///< tasks taken from the injection queues
    std::uint64_t parks = 0;           ///< how often a worker went to sleep
    std::uint64_t wakes = 0;           ///< how often a worker was woken for work
    histogram_snapshot queue_delay;    ///< how long every 64th task of a producer was queued, in ns
};

/// A pool of threads that runs tasks.
///
/// The pool runs or abandons each accepted task exactly once. post() and submit() may return before the task
/// runs, while it runs, or after it has run.
///
/// Order: consider the tasks that one outside thread posts with one priority. In a pool with one worker,
/// these tasks begin in the order of the posts. In a pool with several workers, these tasks begin roughly
/// oldest first, and the exact order is not specified. Use a strand or lanes for a strict order. In a pool
/// with W workers, at most 2^14 * W * W later tasks of the same thread overtake a task before a worker takes
/// it. While a worker is idle, no task waits behind a running or blocked task. A call of pause() can change
/// the order, because a worker that waits for a result may put a task back, and later tasks may begin before
/// that task.
///
/// A worker takes the newest of its own posted tasks first. Other workers steal the oldest of these tasks
/// first. If a worker calls post_last(), the new task is queued behind the tasks that already wait.
///
/// Services: when no task is left, join() shuts down the services of the pool. After that, join() ends the
/// threads.
///
/// fork(): in the child of a fork(), the pool has no workers, and no member function waits. In the child,
/// each function that would post or wait throws std::system_error(operation_not_permitted). So do co_spawn()
/// and sync_wait() with an executor of the pool. A future of then() reports operation_canceled or
/// operation_not_permitted. pause(), resume(), stop() and the destructor do nothing in the child. In the
/// child, metrics() returns the numbers that were visible to the forking thread. The child can create new
/// pools. A task may call fork() if the child ends with exec or _exit. If the child returns from the task,
/// the library prints a message and aborts the child.
///
/// Thread safety: all threads, including the workers, may call all members concurrently, except the
/// destructor. Ordering: everything that the caller did before a post is visible to the task.
class thread_pool : public execution_context {
public:
    using options = thread_pool_options;

    /// Starts the threads. If an option is invalid, throws std::invalid_argument before any thread starts.
    /// Throws std::bad_alloc if there is no memory, and std::system_error if the system refuses to start a
    /// thread. Before it throws, the constructor ends the threads that have already started. Inside a
    /// simulation, the constructor and all posts make the simulated run fail.
    explicit thread_pool(options chosen = {});
    /// Starts `threads` threads. All other options have their default values.
    template <std::integral Number>
        requires(!std::same_as<Number, bool>)
    explicit thread_pool(Number threads) : thread_pool(options{.threads = checked_number(threads)}) {}
    /// Calls join(). The destructor must not run in a thread of this pool, because that thread cannot wait
    /// for its own end. So the pool must not be destroyed by a task, a coroutine, an object in the frame of a
    /// coroutine, a thread_local object of a worker, or a handler in the options. If the destructor does run
    /// in a thread of the pool, it terminates the program with a message that names the place and the remedy.
    /// A thread of the pool may call stop() instead.
    ~thread_pool() override;
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;

    class executor_type;
    /// Returns an executor of this pool for the given priority.
    [[nodiscard]] executor_type get_executor(priority level = priority::normal) noexcept;

    /// Runs `f()` in a worker. Returns true if the pool accepts the task. After stop() or join(), returns
    /// false and destroys its copy of `f` in the calling thread. Throws std::invalid_argument if `f` is an
    /// empty callable, such as an empty std::function. Also throws std::bad_alloc, and whatever copying `f`
    /// throws. If the call throws, the pool has not accepted the task.
    template <class F>
    bool post(F&& f);
    /// Runs `f()` in a worker at priority `level`. Returns and throws like post(f). Also throws
    /// std::invalid_argument if `level` is not a valid priority.
    template <class F>
    bool post(priority level, F&& f);

    /// Posts `f` behind the tasks that already wait. A task can call post_last() to let other tasks run
    /// before it continues. Returns and throws like post().
    template <class F>
    bool post_last(F&& f);

    /// Runs `f(args...)` in a worker and returns the future of its result. `f` and the arguments are copied
    /// or moved into the task. Throws like post(). If the call comes after stop() or join(), the future
    /// reports operation_canceled.
    template <class F, class... Args>
        requires(!std::same_as<std::remove_cvref_t<F>, std::stop_token>
                 && !std::same_as<std::remove_cvref_t<F>, priority>)
    auto submit(F&& f, Args&&... args);
    /// Submits `f` like submit(f, args...), but at priority `level`.
    template <class F, class... Args>
    auto submit(priority level, F&& f, Args&&... args);

    /// Submits `f` like submit(f). A stop request that comes while the task is queued cancels the task, like
    /// future::cancel(). `f` may have a parameter of type std::stop_token, so that `f` can check for later
    /// stop requests.
    template <class F>
    auto submit(std::stop_token token, F&& f);

    /// Runs `f(i)` for each i from 0 to n - 1. If `f` takes no number, runs `f()` n times instead. Each call
    /// uses its own copy of `f`, and several workers can make calls at the same time. The function returns
    /// and throws like post(), but only once for all calls. A task that is posted later may begin before some
    /// of these calls, even in a pool with one worker.
    template <class F>
    bool post_bulk(std::size_t n, F&& f);

    /// Waits until no task is queued or running. When the function returns, all tasks that were accepted
    /// before the call have completed. All tasks that these tasks posted have also completed. The effects of
    /// all these tasks are visible to the caller. A function of a strand or a lane counts as a task of the
    /// pool, unless it waits behind a turn. The function does not wait for outstanding work (see
    /// executor_type). Throws std::system_error(resource_deadlock_would_occur) if a worker of this pool calls
    /// the function.
    void wait_idle();
    /// Waits like wait_idle(), but gives up when `limit` is reached. Returns true if the pool was idle. If
    /// the wait gives up, it has had no effect on the pool. Throws like wait_idle().
    [[nodiscard]] bool wait_idle(const wait_limit& limit);
    /// Waits like wait_idle(), but gives up at a stop request.
    [[nodiscard]] bool wait_idle(std::stop_token token) { return wait_idle(wait_limit(std::move(token))); }
    /// Waits like wait_idle(), but gives up after `duration`. If `duration` is 0 or less, only checks whether
    /// the pool is idle.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_idle_for(const std::chrono::duration<Rep, Period>& duration) {
        return wait_idle(wait_limit::after(duration));
    }
    /// Waits like wait_idle(), but gives up at `deadline`.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_idle_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return wait_idle(wait_limit::until(deadline));
    }

    /// Pauses the pool. A task that is posted after pause() has returned does not begin before resume(). A
    /// task that was posted earlier may still begin if a worker was about to take it. Running tasks continue,
    /// even after they have waited for a result. The pool also runs the calls that running tasks fork.
    /// pause() has no effect after a call of join() or stop() has begun.
    void pause() noexcept;
    /// Ends the pause, so that tasks can begin again. Everything that the caller did before resume() is
    /// visible to the tasks that begin after resume().
    void resume() noexcept;

    /// Closes the pool and abandons the queued tasks. Abandoned tasks are destroyed without running, and
    /// their futures report operation_canceled. A closed pool accepts no more tasks.
    /// Running tasks continue, and stop() does not wait for them. Outstanding work (see executor_type)
    /// continues, too. Unless it belongs to the services of the pool, it must end before the pool is
    /// destroyed. An example is a handler of a timer that another context has queued.
    void stop() noexcept;

    /// Closes the pool and waits for its work. If the pool is paused, join() resumes it. The pool then
    /// refuses tasks from outside. The pool runs every queued task, every function that was accepted by
    /// strands and lanes of the pool, and every task that these tasks post. When all tasks have completed,
    /// join() ends the threads.
    ///
    /// While work is outstanding (see executor_type), join() waits for that work, and the pool accepts tasks
    /// from outside. If stop() has been called, join() waits only for the running tasks, and then ends the
    /// threads, and runs the operations of senders that stop() has left. A second join() only waits.
    ///
    /// Throws std::system_error(resource_deadlock_would_occur) if a thread of this pool calls join(), even if
    /// the call comes from the destructor of a thread_local object.
    void join();
    /// Joins the pool like join(), but gives up when `limit` is reached. Returns true if the pool has ended.
    /// After a true result, the services of the pool are shut down, and its threads have been joined. Throws
    /// like join().
    ///
    /// The limit applies to the wait for tasks, for outstanding work, and for the join() of another thread.
    /// When the last task has completed, the call ends the services and the threads, and returns true. During
    /// this last step, the call waits for the destructors of services and of the workers' thread_local
    /// objects, even if they run longer than the limit allows.
    ///
    /// If the call gives up, it returns false, and the pool remains in the state of being joined. A call of
    /// join() puts the pool into this state even if the limit was already reached before the call. In the
    /// state of being joined:
    ///  * the pool is not paused, and pause() has no effect;
    ///  * the pool refuses tasks from outside, unless work is outstanding;
    ///  * the pool accepts tasks from its own workers, and runs all accepted tasks;
    ///  * the threads and services of the pool remain, even while the pool is idle.
    ///
    /// Another call of join(), with or without a limit, continues the wait. stop() abandons the queued tasks,
    /// so that a later join() waits only for the running tasks. The destructor calls join() without a limit.
    [[nodiscard]] bool join(const wait_limit& limit);
    /// Joins the pool like join(limit), but gives up at a stop request.
    [[nodiscard]] bool join(std::stop_token token) { return join(wait_limit(std::move(token))); }
    /// Joins the pool like join(limit), but gives up after `duration`. If `duration` is 0 or less, the call
    /// puts the pool into the state of being joined, but does not wait.
    template <class Rep, class Period>
    [[nodiscard]] bool join_for(const std::chrono::duration<Rep, Period>& duration) {
        return join(wait_limit::after(duration));
    }
    /// Joins the pool like join(limit), but gives up at `deadline`.
    template <class Clock, class Duration>
    [[nodiscard]] bool join_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return join(wait_limit::until(deadline));
    }

    /// Returns how many threads run tasks while no thread is blocked. The result is the option `threads`, or
    /// the number of usable processors if this option was 0. In the latter case, follow_processors() and the
    /// option `follow_interval` change the result.
    [[nodiscard]] unsigned thread_count() const noexcept;

    /// Reads again how many processors the process may use: the affinity mask of the main thread, and the CPU
    /// quota of the control groups. If the option `threads` was 0, the pool adapts the number of its threads
    /// to the number of processors, between `least_threads` and `upper_threads`. Missing threads start at
    /// once. If there are too many threads, the additional threads run no further tasks when their current
    /// tasks have ended, and end after `keep_alive`. The option `placement` continues to use the processors
    /// from the start of the pool. Returns thread_count(). Has no effect after stop(), and in the child of a
    /// fork(). Throws std::bad_alloc. If the system refuses to start a thread, the pool continues without it.
    unsigned follow_processors();

    /// Returns the largest number of threads that the pool may have at once. The index of each worker is
    /// below this number.
    [[nodiscard]] unsigned max_thread_count() const noexcept;

    /// Returns whether the calling thread is a worker of this pool.
    [[nodiscard]] bool running_in_this_thread() const noexcept;

    /// Returns the index of the calling thread among the workers of this pool. The index is below
    /// max_thread_count(). Returns std::nullopt if the calling thread is not a worker of this pool. No two
    /// threads have the same index at the same time, so a program can use the index to select the data of a
    /// worker.
    [[nodiscard]] std::optional<unsigned> this_worker_index() const noexcept;

    /// Returns what the workers have done since the pool was started. Throws std::bad_alloc.
    [[nodiscard]] thread_pool_metrics metrics() const;

    /// Returns what the threads currently do. The text has one character for each thread, in the order of the
    /// indexes:
    ///   #        The thread runs a task or searches for one.
    ///   b        The thread is blocked.
    ///   w        The thread sleeps until a result is ready.
    ///   .        The thread sleeps because it has no tasks.
    ///   -        The thread stands by.
    ///   p        The thread has a task that waits for resume().
    ///   (blank)  The thread has ended. Another thread may get the same index.
    ///
    /// The length of the text is the largest number of threads that the pool has ever had at once. Throws
    /// std::bad_alloc. live_view uses this function.
    [[nodiscard]] std::string activity() const;

    /// Writes a report to the file descriptor `file`. Call this function when a program hangs. For each
    /// worker, the report says what the worker does, what it waits for, and for how long. If a worker waits
    /// for another worker, the report names the other worker. The report also shows the tasks that wait for
    /// each other in a cycle. For each coroutine that was spawned on the pool and waits, the report has the
    /// chain of awaits, with the file and the line of each co_await. The function samples all workers and
    /// coroutines twice, 50 ms apart, to find which of them make progress. The report has at most
    /// 128 coroutines.
    ///
    /// Any thread and any signal handler may call this function, even while the pool makes no progress. The
    /// function acquires no lock, allocates no memory, and calls no function of the program. The pool must
    /// not be destroyed during the call.
    void dump(int file = 2) const noexcept;

private:
    /// Gives other parts of ekiden access to the implementation.
    friend scheduler& engine_of(thread_pool& pool) noexcept { return *pool.scheduler_; }

    template <class Number>
    static unsigned checked_number(Number threads) {
        if (std::cmp_less(threads, 0) || std::cmp_greater(threads, options::most_threads))
            refuse_number(std::to_string(threads));
        return static_cast<unsigned>(threads);
    }
    [[noreturn]] static void refuse_number(const std::string& threads);

    // For executor_type.
    bool accept(task* accepted, priority level, task_order order);
    void keep(task* operation) noexcept;
    void report_unhandled(const char* type) noexcept;
    void work_started() noexcept;
    void work_finished() noexcept;

    [[nodiscard]] bool take_over(task* refused) override {
        return accept(refused, priority::normal, task_order::usual);
    }

    std::unique_ptr<scheduler> scheduler_;
};

/// An executor is a small handle of a pool and a priority. An executor is cheap to copy. Two executors are
/// equal if both have the same pool and the same priority. An executor has the operations of task_sink. An
/// executor must not be used after its pool is destroyed.
class thread_pool::executor_type : public task_sink<executor_type> {
public:
    [[nodiscard]] thread_pool& context() const noexcept { return *pool_; }
    /// Returns the priority of the tasks that this executor posts.
    [[nodiscard]] priority level() const noexcept { return level_; }
    friend bool operator==(const executor_type&, const executor_type&) = default;

    /// Announces outstanding work. Outstanding work runs outside of the pool and posts its completion to the
    /// pool. join() waits until on_work_finished() has been called as often as on_work_started(). At most
    /// 2^28 - 1 pieces of work may be outstanding at a time. The pool may be destroyed as soon as no work is
    /// outstanding, even if on_work_finished() has not returned yet.
    void on_work_started() const noexcept { pool_->work_started(); }
    void on_work_finished() const noexcept { pool_->work_finished(); }

    /// Returns whether the calling thread is a worker of the pool. In a worker, dispatch() runs a callable at
    /// once.
    [[nodiscard]] bool running_in_this_thread() const noexcept { return pool_->running_in_this_thread(); }

    void report_unhandled(const char* type) const noexcept { pool_->report_unhandled(type); }

private:
    friend class thread_pool;
    friend struct detail::sink_access;

    executor_type(thread_pool& pool, priority level) noexcept : pool_(&pool), level_(level) {}

    bool accept(task* accepted, task_order order) const { return pool_->accept(accepted, level_, order); }
    void keep(task* operation) const noexcept { pool_->keep(operation); }

    thread_pool* pool_;
    priority level_;
};

inline thread_pool::executor_type thread_pool::get_executor(priority level) noexcept {
    return {*this, level};
}

template <class F>
bool thread_pool::post(F&& f) {
    return get_executor().post(std::forward<F>(f));
}
template <class F>
bool thread_pool::post(priority level, F&& f) {
    return get_executor(level).post(std::forward<F>(f));
}
template <class F>
bool thread_pool::post_last(F&& f) {
    return get_executor().post_last(std::forward<F>(f));
}
template <class F, class... Args>
    requires(!std::same_as<std::remove_cvref_t<F>, std::stop_token>
             && !std::same_as<std::remove_cvref_t<F>, priority>)
auto thread_pool::submit(F&& f, Args&&... args) {
    return get_executor().submit(std::forward<F>(f), std::forward<Args>(args)...);
}
template <class F, class... Args>
auto thread_pool::submit(priority level, F&& f, Args&&... args) {
    return get_executor(level).submit(std::forward<F>(f), std::forward<Args>(args)...);
}
template <class F>
auto thread_pool::submit(std::stop_token token, F&& f) {
    return get_executor().submit(std::move(token), std::forward<F>(f));
}
template <class F>
bool thread_pool::post_bulk(std::size_t n, F&& f) {
    return get_executor().post_bulk(n, std::forward<F>(f));
}

} // namespace ekiden::inline EKIDEN_ABI
