/// A pool of threads that runs tasks: work stealing inside, a ring per producer from outside.
///
/// Part: pool. Used by: programs. The engine is private: scheduler.hpp, worker.hpp.
#pragma once

#include <ekiden/future/future.hpp>
#include <ekiden/observe/histogram.hpp>
#include <ekiden/pool/stall.hpp>
#include <ekiden/queue/task.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

class scheduler;
class thread_pool;

/// Which tasks a worker takes first. A worker that always finds tasks of a higher level still takes one of
/// the others at least every 192 tasks, so that none waits for ever.
enum class priority : std::uint8_t { high, normal, low };

/// Where the workers may run.
enum class placement : std::uint8_t {
    none,    ///< wherever the system puts them
    compact, ///< each on one of the usable processors, in their order
    numa,    ///< each on the processors of one NUMA node, the nodes filled evenly
};

struct thread_pool_options {
    /// The largest accepted number of threads.
    static constexpr unsigned most_threads = 4096;

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
    unsigned threads_blocked = 0;      ///< in a blocking_region, or found blocked by the watch
    unsigned threads_standing_by = 0;  ///< surplus ones, asleep until others block
    bool is_saturated = false;         ///< all are blocked, and there are `max_threads`
    std::uint64_t threads_refused = 0; ///< times that the system gave no thread or memory when one blocked
    std::uint64_t stalls = 0;          ///< reports made, see thread_pool_options::on_stall
    std::uint64_t tasks_run = 0;       ///< also cancelled ones, and forked calls that a worker took over
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
/// what the caller did before is visible to it. Tasks of one priority that one thread outside the pool posts
/// are taken in that order, whichever workers take them: a task begins only after every task that the same
/// thread has posted before it has been taken by a worker to be run next. (What a thread posts at its end, from
/// destructors of thread_local objects, may come earlier.) Tasks that a worker posts are taken newest first by
/// itself and oldest first by others.
///
/// In the child of a fork() no worker exists: posting throws std::system_error(operation_not_permitted), and
/// the destructor does nothing.
class thread_pool {
public:
    using options = thread_pool_options;

    /// Starts the threads. Throws std::invalid_argument for a bad option, before anything is started;
    /// std::bad_alloc and std::system_error if the system gives out no memory or thread; the threads that had
    /// started have ended then.
    explicit thread_pool(options chosen = {});
    /// join().
    ~thread_pool();
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;

    /// Runs `f()` in a worker. Returns true if accepted; false after stop() or join(): then `f` has been
    /// destroyed by this thread. Throws std::bad_alloc, std::invalid_argument for an empty std::function and
    /// the like, and what copying `f` throws; nothing has been accepted then.
    template <class F>
    bool post(F&& f, priority level = priority::normal) {
        return accept(make_task(std::forward<F>(f), "post"), level);
    }

    /// Runs `f(args...)`, all copied or moved, in a worker, and returns the future of its result. Throws as
    /// post(). After stop() or join() the future reports std::system_error(operation_canceled).
    template <class F, class... Args>
        requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
                 && (!std::same_as<std::remove_cvref_t<F>, std::stop_token>)
    auto submit(F&& f, Args&&... args)
        -> future<std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>> {
        refuse_empty<std::decay_t<F>>(f, "submit");
        if constexpr (sizeof...(Args) == 0) {
            return submit_to(priority::normal, std::forward<F>(f));
        } else {
            return submit_to(priority::normal,
                             [f = std::decay_t<F>(std::forward<F>(f)),
                              ... args = std::decay_t<Args>(std::forward<Args>(args))]() mutable
                                 -> std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...> {
                                 return std::invoke(std::move(f), std::move(args)...);
                             });
        }
    }

    /// As submit(f), and a stop request cancels the task while it is queued, as future::cancel() would. `f`
    /// may take the token, to see requests that come later.
    template <class F>
        requires(std::invocable<std::decay_t<F>> || std::invocable<std::decay_t<F>, std::stop_token>)
    auto submit(std::stop_token token, F&& f) {
        refuse_empty<std::decay_t<F>>(f, "submit");
        if constexpr (std::invocable<std::decay_t<F>, std::stop_token>) {
            return submit_stoppable(token,
                                    [f = std::decay_t<F>(std::forward<F>(f)), token]() mutable
                                        -> std::invoke_result_t<std::decay_t<F>, std::stop_token> {
                                        return std::invoke(std::move(f), token);
                                    });
        } else {
            return submit_stoppable(std::move(token), std::forward<F>(f));
        }
    }

    /// Runs `f(i)`, or `f()` if it takes no number, for each i from 0 to n - 1, each call a task of its own.
    /// `f` is copied for the calls. Returns and throws as post(), for all of them.
    template <class F>
    bool post_bulk(std::size_t n, F&& f) {
        refuse_empty<std::decay_t<F>>(f, "post_bulk");
        if (n == 0) return true;
        return accept(make_task(bulk<std::decay_t<F>>{this, 0, n, std::forward<F>(f)}), priority::normal);
    }

    class executor;
    /// A handle through which tasks reach this pool, at the given priority.
    [[nodiscard]] executor get_executor(priority level = priority::normal) noexcept;

    /// Returns when no task is queued or running: all that were accepted before have ended, with all that
    /// they posted. Their effects are visible then. Throws std::system_error(resource_deadlock_would_occur)
    /// in a worker of this pool.
    void wait_idle();

    /// No task that is posted after this has returned begins before resume(). Tasks posted earlier may still
    /// begin if a worker was about to take them; those that run go on.
    void pause() noexcept;
    /// What was done before it is visible to the tasks that begin after it.
    void resume() noexcept;

    /// Accepts no more tasks and abandons the queued ones: they are destroyed without running, and their
    /// futures report std::system_error(operation_canceled). Tasks that run go on. Does not wait for them.
    void stop() noexcept;

    /// Accepts no more tasks from outside, resumes if paused, runs what is queued and what that posts, and
    /// ends the threads. After stop() it only ends them. Throws
    /// std::system_error(resource_deadlock_would_occur) in a worker of this pool.
    void join();

    /// How many threads run tasks when none is blocked: the option `threads`, or what it stood for.
    [[nodiscard]] unsigned thread_count() const noexcept;

    /// Whether the calling thread is a worker of this pool.
    [[nodiscard]] bool runs_in_this_thread() const noexcept;

    [[nodiscard]] thread_pool_metrics metrics() const;

private:
    /// For the parts of this folder.
    friend scheduler& engine_of(thread_pool& pool) noexcept { return *pool.scheduler_; }

    /// Puts the task into a queue; abandons it if the pool takes no more, or if that throws.
    bool accept(task* accepted, priority level);

    /// Calls the handler with the exception being handled.
    void report_unhandled(const char* type) noexcept;

    template <class F, class R = std::invoke_result_t<std::decay_t<F>>>
    future<R> submit_to(priority level, F&& f) {
        auto* const state = recycler::create<task_state<R, std::decay_t<F>>>(std::forward<F>(f));
        future<R> result(state);
        accept(state, level);
        return result;
    }

    template <class F, class R = std::invoke_result_t<std::decay_t<F>>>
    future<R> submit_stoppable(std::stop_token token, F&& f) {
        auto* const state = recycler::create<stoppable_task_state<R, std::decay_t<F>>>(std::forward<F>(f));
        future<R> result(state);
        state->cancel_on(std::move(token));
        accept(state, priority::normal);
        return result;
    }

    /// Calls of f for [first, last): gives the right half away until one is left, so that every call can be
    /// stolen.
    template <class F>
    struct bulk {
        thread_pool* pool;
        std::size_t first;
        std::size_t last;
        F f;

        void operator()() {
            while (last - first > 1) {
                const std::size_t middle = first + (last - first) / 2;
                try {
                    pool->accept(make_task(bulk{pool, middle, last, f}),
                                 priority::normal); // stopped: abandons it
                } catch (...) {                     // no memory, or f cannot be copied: then all of it here
                    return call_all();
                }
                last = middle;
            }
            call(first);
        }

        void call(std::size_t i) {
            if constexpr (std::invocable<F&, std::size_t>)
                std::invoke(f, i);
            else
                std::invoke(f);
        }

        void call_all() noexcept {
            for (; first != last; ++first) {
                try {
                    call(first);
                } catch (...) {
                    pool->report_unhandled(type_description<F>());
                }
            }
        }
    };

    std::unique_ptr<scheduler> scheduler_;
};

/// A cheap, copyable handle; equal if pool and priority are. Must not be used after the pool's end.
class thread_pool::executor {
public:
    template <class F>
    bool post(F&& f) const {
        return pool_->post(std::forward<F>(f), level_);
    }
    template <class F>
    auto submit(F&& f) const {
        refuse_empty<std::decay_t<F>>(f, "submit");
        return pool_->submit_to(level_, std::forward<F>(f));
    }

    [[nodiscard]] thread_pool& context() const noexcept { return *pool_; }
    [[nodiscard]] priority level() const noexcept { return level_; }
    friend bool operator==(const executor&, const executor&) = default;

private:
    friend class thread_pool;
    executor(thread_pool& pool, priority level) noexcept : pool_(&pool), level_(level) {}

    thread_pool* pool_;
    priority level_;
};

inline thread_pool::executor thread_pool::get_executor(priority level) noexcept { return {*this, level}; }

} // namespace ekiden::inline EKIDEN_ABI
