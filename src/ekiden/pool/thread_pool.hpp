/// A pool of threads that runs tasks: work stealing inside, a ring per producer from outside.
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

/// Where the workers may run.
enum class placement : std::uint8_t {
    none,    ///< wherever the system puts them
    compact, ///< each on one of the usable processors, in their order
    numa,    ///< each on the processors of one NUMA node, the nodes filled evenly
};

/// What a thread_pool is made with.
struct thread_pool_options {
    /// The largest accepted number of threads.
    static constexpr unsigned most_threads = 4096;
    /// The largest accepted spin_time.
    static constexpr std::chrono::microseconds longest_spin = std::chrono::seconds(10);

    unsigned threads = 0;                          ///< 0: one per processor that this process may really use
    std::string name = "ekiden";                   ///< the threads are called name-0, name-1, ...
    ekiden::placement placement = placement::none; ///< a hint: not reported if the system refuses it
    /// How many threads there may be while others are blocked, in a blocking_region or, as the watch finds,
    /// without one. 0: as `threads`. See elastic.md.
    unsigned max_threads = 0;
    std::chrono::milliseconds keep_alive{10'000}; ///< a surplus thread without work ends after this time
    /// How often a thread of its own looks for workers that block without a blocking_region, if
    /// `max_threads` is above `threads` or `on_stall` is set. 0: never; there is no such thread then.
    std::chrono::milliseconds watch_interval{10};
    /// How long every idle worker looks for work before it sleeps. For short loops that follow each other
    /// closely: a wake-up costs more than such a loop. It takes the processors meanwhile, as OpenMP does with
    /// its block time. 0: one worker at a time looks, for 20 us.
    std::chrono::microseconds spin_time{0};
    /// Called by the worker when a task without a future ends with an exception, with the name of the
    /// callable's type. Must not throw. Empty: prints both to standard error and calls std::terminate.
    std::function<void(std::exception_ptr, std::string_view)> on_unhandled_exception = {};
    /// Called once each time that the pool is found unable to get on: saturated, by the watch; deadlocked, by
    /// the worker whose wait has closed the circle. Must not throw, nor wait for the pool. Empty: prints
    /// a deadlock to standard error.
    std::function<void(const stall_report&)> on_stall = {};
};

/// What the workers have done since the pool began. The numbers are read one after the other while the pool
/// runs.
struct thread_pool_metrics {
    unsigned threads = 0;              ///< all of them, now
    unsigned peak_threads = 0;         ///< the most there were at once
    unsigned threads_at_work = 0;      ///< run a task, or look for one
    unsigned threads_blocked = 0;      ///< in a blocking_region, or found blocked by the watch
    unsigned threads_standing_by = 0;  ///< surplus ones, asleep until others block
    bool is_saturated = false;         ///< all are blocked, and there are `max_threads`
    std::uint64_t threads_refused = 0; ///< times that the system gave no thread or memory when one blocked
    std::uint64_t stalls = 0;          ///< reports made, see thread_pool_options::on_stall
    std::uint64_t tasks_run = 0;       ///< also canceled ones, and forked calls that a worker took over
    std::uint64_t tasks_abandoned = 0; ///< dropped by stop()
    std::uint64_t tasks_pending = 0;   ///< queued or running now
    std::uint64_t stolen = 0;          ///< taken from another worker's deque
    std::uint64_t injected = 0;        ///< taken from the queues for tasks from outside and for priorities
    std::uint64_t parks = 0;           ///< times that a worker went to sleep
    std::uint64_t wakes = 0;           ///< times that one was woken for work
    histogram_snapshot queue_delay;    ///< ns from post to run, of every 64th task of each producer
};

/// Thread-safe: any thread, the workers too, may call any function, but for the destructor. A task that is
/// accepted is run or abandoned, exactly once: post() and submit() return before, while or after it runs, and
/// what the caller did before is visible to it.
///
/// Order of tasks of one priority that one thread outside the pool posts: with one worker they begin in the
/// order of the posts. With several they begin roughly oldest first, and the order is not specified: take a
/// strand or lanes for a strict one. At most 2^14 * W * W later tasks of that thread overtake a task, with W
/// workers. No task waits behind another one that computes or blocks while a worker is idle. (What a thread
/// posts at its end, from destructors of thread_local objects, may come earlier; so may others while a worker
/// that waits for a result has put a task back because of pause().)
///
/// Tasks that a worker posts are taken newest first by itself and oldest first by others; post_last() puts a
/// worker's task behind those that wait.
///
/// A context with services: join() shuts them down when no task is left, before the threads end.
///
/// In the child of a fork() no worker exists, and nothing waits: what posts or waits throws
/// std::system_error(operation_not_permitted); pause(), resume(), stop() and the destructor do nothing;
/// metrics() tells what the forking thread could see. New pools work there. A task may fork if its child ends
/// with exec or _exit: one that returns from the task ends the process with a message.
class thread_pool : public execution_context {
public:
    using options = thread_pool_options;

    /// Starts the threads. Throws std::invalid_argument for a bad option, before anything is started;
    /// std::bad_alloc and std::system_error if the system gives out no memory or thread; the threads that had
    /// started have ended then. In a simulation it fails the run instead, as does a post from there.
    explicit thread_pool(options chosen = {});
    /// With so many threads; otherwise as by default.
    template <std::integral Number>
        requires(!std::same_as<Number, bool>)
    explicit thread_pool(Number threads) : thread_pool(options{.threads = checked_number(threads)}) {}
    /// Calls join(). Must not run in a thread of this pool, which cannot wait for its own end: not in a task,
    /// a coroutine or its frame, a thread_local object of a worker, nor in a function that the options name.
    /// Then it stops the program with a message that says which of these it was, and what to do. stop() may
    /// be called there.
    ~thread_pool() override;
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;

    class executor_type;
    /// A handle through which tasks reach this pool, at the given priority.
    [[nodiscard]] executor_type get_executor(priority level = priority::normal) noexcept;

    /// Runs `f()` in a worker. Returns true if the task is accepted. After stop() or join() it returns false,
    /// and this thread has destroyed `f`. Throws std::bad_alloc, std::invalid_argument if `f` is an empty
    /// callable such as an empty std::function, and whatever copying `f` throws. If it throws, no task has
    /// been accepted.
    template <class F>
    bool post(F&& f);
    /// Runs `f()` in a worker at priority `level`. Also throws std::invalid_argument if there is no such
    /// priority. Otherwise as post(f).
    template <class F>
    bool post(priority level, F&& f);

    /// As post(), behind the tasks that wait already: for a task that goes on later, and lets others through.
    template <class F>
    bool post_last(F&& f);

    /// Runs `f(args...)`, all copied or moved, in a worker, and returns the future of its result. Throws as
    /// post(). After stop() or join() the future reports std::system_error(operation_canceled).
    template <class F, class... Args>
        requires(!std::same_as<std::remove_cvref_t<F>, std::stop_token>
                 && !std::same_as<std::remove_cvref_t<F>, priority>)
    auto submit(F&& f, Args&&... args);
    /// As above, at a priority.
    template <class F, class... Args>
    auto submit(priority level, F&& f, Args&&... args);

    /// As submit(f), and a stop request cancels the task while it is queued, as future::cancel() would. `f`
    /// may take the token, to see requests that come later.
    template <class F>
    auto submit(std::stop_token token, F&& f);

    /// Runs `f(i)`, or `f()` if it takes no number, for each i from 0 to n - 1, each call a task of its own.
    /// `f` is copied for the calls. Returns and throws as post(), for all of them. A task that is posted
    /// later may begin before calls that remain, whatever the number of workers.
    template <class F>
    bool post_bulk(std::size_t n, F&& f);

    /// Waits until no task is queued or running. Then every task that was accepted before the call has
    /// completed, with every task that it posted. Their effects are visible to the caller. Outstanding work
    /// (see executor_type) does not count. Throws std::system_error(resource_deadlock_would_occur) in a
    /// worker of this pool.
    void wait_idle();
    /// As wait_idle(), but gives up when `limit` is reached. Returns true if the pool was idle. A wait that
    /// gives up has no effect on the pool. Throws the same.
    [[nodiscard]] bool wait_idle(const wait_limit& limit);
    /// As wait_idle(), but gives up at a stop request.
    [[nodiscard]] bool wait_idle(std::stop_token token) { return wait_idle(wait_limit(std::move(token))); }
    /// As wait_idle(), but gives up after `duration`. With 0 or less it only checks.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_idle_for(const std::chrono::duration<Rep, Period>& duration) {
        return wait_idle(wait_limit::after(duration));
    }
    /// As wait_idle(), but gives up at `deadline`.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_idle_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return wait_idle(wait_limit::until(deadline));
    }

    /// No task that is posted after this has returned begins before resume(). Tasks posted earlier may still
    /// begin if a worker was about to take them; those that run go on, with what they fork and while they
    /// wait for results. Has no effect after join() or stop() has begun.
    void pause() noexcept;
    /// What was done before it is visible to the tasks that begin after it.
    void resume() noexcept;

    /// Accepts no more tasks and abandons the queued ones: they are destroyed without running, and their
    /// futures report std::system_error(operation_canceled). Tasks that run go on. Does not wait for them.
    void stop() noexcept;

    /// Resumes the pool if it is paused, refuses tasks from outside, runs every queued task and every task
    /// that those post, and ends the threads. While work is outstanding (see executor_type), join() waits for
    /// that work, and the pool accepts tasks from outside. After stop() it waits only for the tasks that run,
    /// and ends the threads. A second call waits for the first one, and then does nothing. Throws
    /// std::system_error(resource_deadlock_would_occur) in a thread of this pool, also in destructors of its
    /// thread_local objects.
    void join();
    /// As join(), but gives up when `limit` is reached. Returns true if the pool has ended: its services are
    /// shut down, and its threads have been joined. Throws the same as join().
    ///
    /// The limit ends the wait for tasks, for outstanding work, and for another thread's join(). When the
    /// last task has completed, the call ends the threads and returns true. That takes as long as the
    /// destructors of services and of the workers' thread_local objects take, whatever the limit is.
    ///
    /// If the call gives up, it returns false, and the pool stays in the state of a pool that is being
    /// joined. This is also so if the limit was reached before the call. In this state the pool:
    ///  * is not paused, and pause() has no effect;
    ///  * refuses tasks from outside, but accepts them while work is outstanding;
    ///  * accepts tasks from its own workers, and runs every task that it has accepted;
    ///  * keeps its threads and services, also when it is idle.
    /// Another join() continues, with or without a limit. stop() abandons the queued tasks, and makes a later
    /// join() wait only for the tasks that run. The destructor calls join() without a limit.
    [[nodiscard]] bool join(const wait_limit& limit);
    /// As join(limit), but gives up at a stop request.
    [[nodiscard]] bool join(std::stop_token token) { return join(wait_limit(std::move(token))); }
    /// As join(limit), but gives up after `duration`. With 0 or less it begins to join, and waits for
    /// nothing.
    template <class Rep, class Period>
    [[nodiscard]] bool join_for(const std::chrono::duration<Rep, Period>& duration) {
        return join(wait_limit::after(duration));
    }
    /// As join(limit), but gives up at `deadline`.
    template <class Clock, class Duration>
    [[nodiscard]] bool join_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return join(wait_limit::until(deadline));
    }

    /// How many threads run tasks when none is blocked: the option `threads`, or what it stood for.
    [[nodiscard]] unsigned thread_count() const noexcept;

    /// How many threads there can ever be at once: the largest index of a worker is one less.
    [[nodiscard]] unsigned max_thread_count() const noexcept;

    /// Returns whether the calling thread is a worker of this pool.
    [[nodiscard]] bool running_in_this_thread() const noexcept;

    /// The number of the calling thread among the workers of this pool, from 0 to max_thread_count() - 1, to
    /// find memory of its own by; nothing if it is none of them. At most one thread at a time has a number.
    [[nodiscard]] std::optional<unsigned> this_worker_index() const noexcept;

    /// What the workers have done since the pool began. Throws std::bad_alloc.
    [[nodiscard]] thread_pool_metrics metrics() const;

    /// What the threads do now, a character for each by its number:
    ///   #  runs a task, or looks for one    b  is blocked            w  sleeps until a result is there
    ///   .  sleeps for want of tasks         -  stands by             p  has a task that waits for resume()
    ///   (blank)  has ended; another thread may come in its place
    /// As many as there ever were at once. Throws std::bad_alloc. For live_view.
    [[nodiscard]] std::string activity() const;

    /// Writes to a file descriptor what each worker does, what it waits for and since when, who holds that
    /// up, and tasks that wait for each other in a circle; for a program that hangs. Looks twice, 50 ms
    /// apart, to tell what moves; so long it takes. Any thread, also in a signal handler, while everything is
    /// stuck: takes no lock, allocates nothing, calls nothing of the program. The pool must live meanwhile.
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
    repeated_task::end repeat(repeated_task& begun, priority level, repeated_task::call call,
                              const void* callable);
    void report_unhandled(const char* type) noexcept;
    void work_started() noexcept;
    void work_finished() noexcept;

    [[nodiscard]] bool take_over(task* refused) override {
        return accept(refused, priority::normal, task_order::usual);
    }

    std::unique_ptr<scheduler> scheduler_;
};

/// A cheap, copyable handle; equal if pool and priority are. Its operations are those of task_sink. Must not
/// be used after the pool's end.
class thread_pool::executor_type : public task_sink<executor_type> {
public:
    [[nodiscard]] thread_pool& context() const noexcept { return *pool_; }
    /// The priority of what it posts.
    [[nodiscard]] priority level() const noexcept { return level_; }
    friend bool operator==(const executor_type&, const executor_type&) = default;

    /// Work elsewhere has begun that will post its end to the pool: join() waits for as many calls of
    /// on_work_finished(), which may be the last that a thread does with the pool. At most 2^30 - 1 at a
    /// time.
    void on_work_started() const noexcept { pool_->work_started(); }
    void on_work_finished() const noexcept { pool_->work_finished(); }

    /// Whether the calling thread is a worker of the pool: dispatch() runs at once then.
    [[nodiscard]] bool running_in_this_thread() const noexcept { return pool_->running_in_this_thread(); }

    // ---- for task_sink

    bool accept(task* accepted, task_order order) const { return pool_->accept(accepted, level_, order); }
    repeated_task::end repeat(repeated_task& begun, repeated_task::call call, const void* callable) const {
        return pool_->repeat(begun, level_, call, callable);
    }
    [[nodiscard]] task* continue_with(task* given) const {
        if (running_in_this_thread()) return given;
        accept(given, task_order::usual);
        return nullptr;
    }
    void report_unhandled(const char* type) const noexcept { pool_->report_unhandled(type); }

private:
    friend class thread_pool;
    executor_type(thread_pool& pool, priority level) noexcept : pool_(&pool), level_(level) {}

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
