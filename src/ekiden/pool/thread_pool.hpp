/// A pool of threads that runs tasks. Workers steal from each other. Threads outside post into rings.
///
/// Part: pool. Used by: programs. The engine is private: scheduler.hpp, worker.hpp.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/priority.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/observe/detail/histogram.hpp>
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
    none,    ///< any processor: the system chooses
    compact, ///< each worker on one usable processor, in their order
    numa,    ///< each worker on the processors of one NUMA node; the nodes are filled evenly
};

/// The options of a thread_pool.
struct thread_pool_options {
    /// The largest accepted number of threads.
    static constexpr unsigned most_threads = 4096;
    /// The largest accepted spin_time.
    static constexpr std::chrono::microseconds longest_spin = std::chrono::seconds(10);

    unsigned threads = 0;                          ///< number of workers; 0: one per usable processor
    std::string name = "ekiden";                   ///< the threads are called name-0, name-1, ...
    ekiden::placement placement = placement::none; ///< a hint: a refusal by the system is not reported
    /// The largest number of threads while some are blocked. A thread is blocked in a blocking_region, or if
    /// the watch finds that it blocks without one. 0 means `threads`. See elastic.md.
    unsigned max_threads = 0;
    std::chrono::milliseconds keep_alive{10'000}; ///< how long a surplus thread waits for work before it ends
    /// The interval at which the pool checks for workers that block without a blocking_region. A thread of
    /// its own, the watch, checks them if `max_threads` is above `threads` or `on_stall` is set. 0: never,
    /// and there is no such thread.
    std::chrono::milliseconds watch_interval{10};
    /// How long every idle worker searches for work before it sleeps. It uses the processors meanwhile, like
    /// the block time of OpenMP. Set it for short loops that follow each other closely, because a wake-up
    /// costs more than such a loop. 0: one worker at a time searches, for 20 us.
    std::chrono::microseconds spin_time{0};
    /// Called by the worker if an exception leaves a task without a future, with the exception and the name
    /// of the callable's type. Must not throw. Empty: prints both to standard error and calls std::terminate.
    std::function<void(std::exception_ptr, std::string_view)> on_unhandled_exception = {};
    /// Called once each time that the pool is found to make no progress. The watch calls it for a saturated
    /// pool. The worker whose wait closes the cycle calls it for a deadlock. Must not throw, nor wait for the
    /// pool. Empty: prints a deadlock to standard error.
    std::function<void(const stall_report&)> on_stall = {};
};

/// Counts of what the workers have done since the pool began. The numbers are read one after the other while
/// the pool runs, so they are not a snapshot of one moment.
struct thread_pool_metrics {
    unsigned threads = 0;              ///< the number of threads now
    unsigned peak_threads = 0;         ///< the largest number at once
    unsigned threads_at_work = 0;      ///< threads that run a task or search for one
    unsigned threads_blocked = 0;      ///< threads in a blocking_region, or found blocked by the watch
    unsigned threads_standing_by = 0;  ///< surplus threads, asleep until others block
    bool is_saturated = false;         ///< all threads are blocked, and there are `max_threads`
    std::uint64_t threads_refused = 0; ///< how often the system gave no thread or memory when one blocked
    std::uint64_t stalls = 0;          ///< reports made; see thread_pool_options::on_stall
    std::uint64_t tasks_run = 0;       ///< including canceled tasks, and forked calls that a worker took over
    std::uint64_t tasks_abandoned = 0; ///< tasks that stop() dropped
    std::uint64_t tasks_pending = 0;   ///< tasks that are queued or running now
    std::uint64_t stolen = 0;          ///< tasks taken from another worker's deque
    std::uint64_t injected = 0;        ///< tasks taken from the queues for outside tasks and for priorities
    std::uint64_t parks = 0;           ///< how often a worker went to sleep
    std::uint64_t wakes = 0;           ///< how often a worker was woken for work
    histogram_snapshot queue_delay;    ///< ns from post to run, of every 64th task of each producer
};

/// A pool of threads that runs tasks.
///
/// An accepted task is run or abandoned, exactly once. post() and submit() may return before, while or after
/// it runs.
///
/// Order: with one worker, tasks of one priority that one outside thread posts begin in the order of the
/// posts. With several workers they begin roughly oldest first, and the order is not specified. Use a strand
/// or lanes for a strict order. With W workers, at most 2^14 * W * W later tasks of that thread overtake a
/// task. No task waits behind another one that computes or blocks while a worker is idle. Later posts may
/// begin earlier in one case: a worker that waits for a result puts a task back because of pause().
///
/// A worker takes the tasks that it has posted newest first. Other workers take them oldest first.
/// post_last() puts a worker's task behind the waiting ones.
///
/// Services: join() shuts down the services of the pool when no task is left, before the threads end.
///
/// fork(): in the child no worker exists, and no call waits. A call that posts or waits throws
/// std::system_error(operation_not_permitted). pause(), resume(), stop() and the destructor do nothing.
/// metrics() returns what the forking thread could see. New pools work in the child. A task may fork if its
/// child ends with exec or _exit. A child that returns from the task ends the process with a message.
///
/// Thread safety: all members may be called concurrently, also by workers, except the destructor.
/// Ordering: everything that the caller did before a post is visible to the task.
class thread_pool : public execution_context {
public:
    using options = thread_pool_options;

    /// Starts the threads. Throws std::invalid_argument for a bad option, before anything is started. Throws
    /// std::bad_alloc or std::system_error if the system gives no memory or thread. The threads that had
    /// started have then ended. In a simulation the constructor fails the run instead, as does a post.
    explicit thread_pool(options chosen = {});
    /// Starts `threads` threads. All other options have their defaults.
    template <std::integral Number>
        requires(!std::same_as<Number, bool>)
    explicit thread_pool(Number threads) : thread_pool(options{.threads = checked_number(threads)}) {}
    /// Calls join(). Must not run in a thread of this pool, because that thread cannot wait for its own end.
    /// This includes tasks, coroutines and their frames, thread_local objects of a worker, and functions in
    /// the options. If it does run there, it ends the program with a message that names the place and the
    /// remedy. stop() may be called there.
    ~thread_pool() override;
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;

    class executor_type;
    /// Returns an executor of this pool for the given priority.
    [[nodiscard]] executor_type get_executor(priority level = priority::normal) noexcept;

    /// Runs `f()` in a worker. Returns true if the task is accepted. After stop() or join() it returns false,
    /// and this thread has destroyed `f`. Throws std::bad_alloc, std::invalid_argument if `f` is an empty
    /// callable such as an empty std::function, and whatever copying `f` throws. If it throws, no task has
    /// been accepted.
    template <class F>
    bool post(F&& f);
    /// Runs `f()` in a worker at priority `level`. Returns and throws like post(f). Also throws
    /// std::invalid_argument if there is no such priority.
    template <class F>
    bool post(priority level, F&& f);

    /// Posts `f` behind the tasks that already wait, for a task that lets other tasks run before it
    /// continues. Returns and throws like post().
    template <class F>
    bool post_last(F&& f);

    /// Runs `f(args...)` in a worker and returns the future of its result. `f` and the arguments are copied
    /// or moved. Throws like post(). After stop() or join() the future reports
    /// std::system_error(operation_canceled).
    template <class F, class... Args>
        requires(!std::same_as<std::remove_cvref_t<F>, std::stop_token>
                 && !std::same_as<std::remove_cvref_t<F>, priority>)
    auto submit(F&& f, Args&&... args);
    /// Does the same at priority `level`.
    template <class F, class... Args>
    auto submit(priority level, F&& f, Args&&... args);

    /// Does the same as submit(f). A stop request cancels the task while it is queued, like future::cancel().
    /// `f` may take the token as its parameter, to see later requests.
    template <class F>
    auto submit(std::stop_token token, F&& f);

    /// Runs `f(i)` for each i from 0 to n - 1, each call as a task of its own. Runs `f()` instead if `f`
    /// takes no number. `f` is copied for the calls. Returns and throws like post(), for all calls together.
    /// A task that is posted later may begin before the remaining calls, whatever the number of workers.
    template <class F>
    bool post_bulk(std::size_t n, F&& f);

    /// Waits until no task is queued or running. Then every task that was accepted before the call has
    /// completed, with every task that it posted. Outstanding work (see executor_type) does not count. Throws
    /// std::system_error(resource_deadlock_would_occur) in a worker of this pool. The effects of the tasks
    /// are visible to the caller.
    void wait_idle();
    /// Waits like wait_idle(), but gives up when `limit` is reached. Returns true if the pool was idle. A
    /// wait that gives up has no effect on the pool. Throws the same.
    [[nodiscard]] bool wait_idle(const wait_limit& limit);
    /// Waits like wait_idle(), but gives up at a stop request.
    [[nodiscard]] bool wait_idle(std::stop_token token) { return wait_idle(wait_limit(std::move(token))); }
    /// Waits like wait_idle(), but gives up after `duration`. With 0 or less it only checks.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_idle_for(const std::chrono::duration<Rep, Period>& duration) {
        return wait_idle(wait_limit::after(duration));
    }
    /// Waits like wait_idle(), but gives up at `deadline`.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_idle_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return wait_idle(wait_limit::until(deadline));
    }

    /// Pauses the pool: no task that is posted after the return begins before resume(). Tasks posted earlier
    /// may still begin if a worker was about to take them. Running tasks continue, with what they fork and
    /// while they wait for results. Has no effect after join() or stop() has begun.
    void pause() noexcept;
    /// Lets tasks begin again. Everything that the caller did before is visible to the tasks that begin after
    /// it.
    void resume() noexcept;

    /// Closes the pool and abandons the queued tasks: they are destroyed without running, and their futures
    /// report std::system_error(operation_canceled). The pool accepts no more tasks. Running tasks continue,
    /// and stop() does not wait for them.
    void stop() noexcept;

    /// Closes the pool and waits for its work. Resumes the pool if it is paused, refuses tasks from outside,
    /// runs every queued task and every task that those post, and ends the threads.
    ///
    /// While work is outstanding (see executor_type), join() waits for that work, and the pool accepts tasks
    /// from outside. After stop() it waits only for the running tasks, and ends the threads. A second call
    /// waits for the first one, and then does nothing.
    ///
    /// Throws std::system_error(resource_deadlock_would_occur) in a thread of this pool, including
    /// destructors of its thread_local objects.
    void join();
    /// Joins the pool like join(), but gives up when `limit` is reached. Returns true if the pool has ended:
    /// its services are shut down, and its threads have been joined. Throws the same as join().
    ///
    /// The limit applies to the wait for tasks, for outstanding work, and for another thread's join(). When
    /// the last task has completed, the call ends the threads and returns true. Then it waits for the
    /// destructors of services and of the workers' thread_local objects, even beyond the limit.
    ///
    /// If the call gives up, it returns false, and the pool stays in the state of a pool that is being
    /// joined. The same happens if the limit was reached before the call. In this state the pool:
    ///  * is not paused, and pause() has no effect;
    ///  * refuses tasks from outside, but accepts them while work is outstanding;
    ///  * accepts tasks from its own workers, and runs every task that it has accepted;
    ///  * keeps its threads and services, also when it is idle.
    /// Another join() continues, with or without a limit. stop() abandons the queued tasks, and makes a later
    /// join() wait only for the tasks that run. The destructor calls join() without a limit.
    [[nodiscard]] bool join(const wait_limit& limit);
    /// Joins like join(limit), but gives up at a stop request.
    [[nodiscard]] bool join(std::stop_token token) { return join(wait_limit(std::move(token))); }
    /// Joins like join(limit), but gives up after `duration`. With 0 or less it begins to join and waits for
    /// nothing.
    template <class Rep, class Period>
    [[nodiscard]] bool join_for(const std::chrono::duration<Rep, Period>& duration) {
        return join(wait_limit::after(duration));
    }
    /// Joins like join(limit), but gives up at `deadline`.
    template <class Clock, class Duration>
    [[nodiscard]] bool join_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return join(wait_limit::until(deadline));
    }

    /// Returns how many threads run tasks when none is blocked: the option `threads`, or the number that 0
    /// stood for.
    [[nodiscard]] unsigned thread_count() const noexcept;

    /// Returns the largest number of threads at once. Indexes of workers are below it.
    [[nodiscard]] unsigned max_thread_count() const noexcept;

    /// Returns whether the calling thread is a worker of this pool.
    [[nodiscard]] bool running_in_this_thread() const noexcept;

    /// Returns the index of the calling thread among the workers of this pool, a number below
    /// max_thread_count(). Returns nothing if the thread is no worker of it. At most one thread at a time has
    /// a given index, so a program can use it to find memory of the worker's own.
    [[nodiscard]] std::optional<unsigned> this_worker_index() const noexcept;

    /// Returns what the workers have done since the pool began. Throws std::bad_alloc.
    [[nodiscard]] thread_pool_metrics metrics() const;

    /// Returns what the threads do now, as text with a character for each thread, in the order of their
    /// indexes:
    ///   #  runs a task or searches for one  b  is blocked            w  sleeps until a result is ready
    ///   .  sleeps because it has no tasks   -  stands by             p  has a task that waits for resume()
    ///   (blank)  has ended; another thread may come in its place
    /// The text has as many characters as there ever were threads at once. Throws std::bad_alloc. live_view
    /// uses it.
    [[nodiscard]] std::string activity() const;

    /// Writes a report to a file descriptor, for a program that hangs. It names what each worker does, what
    /// it waits for and since when, which worker holds it up, and tasks that wait for each other in
    /// a cycle. It samples twice, 50 ms apart, to find the workers that make progress.
    ///
    /// Any thread may call it, also a signal handler, while the pool makes no progress. It takes no lock,
    /// allocates nothing and calls no function of the program. The pool must live meanwhile.
    void dump(int file = 2) const noexcept;

private:
    /// For the parts on this pool.
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
    void report_unhandled(const char* type) noexcept;
    void work_started() noexcept;
    void work_finished() noexcept;

    [[nodiscard]] bool take_over(task* refused) override {
        return accept(refused, priority::normal, task_order::usual);
    }

    std::unique_ptr<scheduler> scheduler_;
};

/// An executor: a cheap, copyable handle of a pool and a priority. Executors are equal if pool and priority
/// are. Its operations are those of task_sink. Must not be used after the pool is destroyed.
class thread_pool::executor_type : public task_sink<executor_type> {
public:
    [[nodiscard]] thread_pool& context() const noexcept { return *pool_; }
    /// Returns the priority of the tasks that it posts.
    [[nodiscard]] priority level() const noexcept { return level_; }
    friend bool operator==(const executor_type&, const executor_type&) = default;

    /// Announces work elsewhere that will post its completion to the pool. join() waits for as many calls of
    /// on_work_finished(). That call may be the last one that a thread makes to the pool. At most 2^30 - 1 at
    /// a time.
    void on_work_started() const noexcept { pool_->work_started(); }
    void on_work_finished() const noexcept { pool_->work_finished(); }

    /// Returns whether the calling thread is a worker of the pool. If it is, dispatch() runs a callable at
    /// once.
    [[nodiscard]] bool running_in_this_thread() const noexcept { return pool_->running_in_this_thread(); }

    void report_unhandled(const char* type) const noexcept { pool_->report_unhandled(type); }

private:
    friend class thread_pool;
    friend struct detail::sink_access;

    executor_type(thread_pool& pool, priority level) noexcept : pool_(&pool), level_(level) {}

    bool accept(task* accepted, task_order order) const { return pool_->accept(accepted, level_, order); }

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
