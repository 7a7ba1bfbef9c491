/// A loop_context for each of several threads: for programs that give each thread its own part of the work.
///
/// Part: loop. Used by: programs.
#pragma once

#include <ekiden/loop/loop_context.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

class loop_threads;

/// The options of a loop_pool.
struct loop_pool_options {
    /// The largest accepted number of threads.
    static constexpr unsigned most_threads = 4096;

    unsigned threads = 0; ///< number of threads; 0: one per processor that this process may really use
    std::string name = "ekiden-loop"; ///< the threads are called name-0, name-1, ...
    /// Pins each thread to one of the usable processors, in their order. This is a hint: a refusal by the
    /// system is not reported.
    bool is_pinned = false;
    /// The function that the thread calls when a task without a future throws an exception. Its second
    /// argument is the name of the callable's type. Must not throw. If it is empty, the library prints both
    /// to standard error and calls std::terminate.
    std::function<void(std::exception_ptr, std::string_view)> on_unhandled_exception = {};
};

/// A pool of threads, of which each runs its own context with the hint 1. Data that stay on one thread need
/// no lock. The threads start with the pool.
///
/// In the child of a fork() the threads do not exist. Executors throw as described at loop_context, join()
/// throws std::system_error(operation_not_permitted), and the destructor does nothing.
///
/// Thread safety: all members except the destructor may be called concurrently. The pool's own threads may
/// call them, too, unless stated otherwise.
class loop_pool {
public:
    using options = loop_pool_options;
    using executor_type = loop_context::executor_type;

    /// Starts the threads. Throws std::invalid_argument for an option that is not allowed. Throws
    /// std::bad_alloc and std::system_error if the system does not provide memory or a thread. If it throws,
    /// the threads that had started have ended.
    explicit loop_pool(options chosen = {});
    /// Calls join(). Must not run in a thread of the pool: not in a task, a coroutine or its frame, a
    /// thread_local object, nor in `on_unhandled_exception`. If it does, it stops the program with a message
    /// that says which of these it was, and what to do. stop() may be called there.
    ~loop_pool();
    loop_pool(const loop_pool&) = delete;
    loop_pool& operator=(const loop_pool&) = delete;

    [[nodiscard]] std::size_t size() const noexcept;

    /// Returns the executor of the next thread in turn.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// Returns the executor of thread `index`. Throws std::out_of_range if `index` is not below size().
    [[nodiscard]] executor_type get_executor(std::size_t index) const;
    /// Returns the executor of the thread for `key`, which is the same one for equal keys. So the tasks of a
    /// key run on one thread, in the order of the posts.
    template <class Key>
        requires requires(const Key& key) {
            { std::hash<Key>()(key) } -> std::convertible_to<std::size_t>;
        }
    [[nodiscard]] executor_type get_executor_for(const Key& key) const
        noexcept(noexcept(std::hash<Key>()(key))) {
        return of_hash(std::hash<Key>()(key));
    }

    /// Stops the pool. Running tasks continue, and then their threads end. Queued tasks are not run; they are
    /// destroyed with the pool. But a thread that is between two tasks at this moment may begin one more.
    /// Does not wait.
    void stop() noexcept;

    /// Waits until no task is queued or running and no work is outstanding on any loop. Then ends the
    /// threads. Tasks, and threads that hold outstanding work (timers, work guards), may bring new work to
    /// any loop meanwhile. The wait includes that work. If another thread posts a task meanwhile, the task
    /// may stay in its queue. A task that is posted later stays there. If a loop was stopped on its own,
    /// through its context, its thread has ended. join() does not wait for tasks or work of such a loop. A
    /// second call waits for the first one, and then does nothing. Throws
    /// std::system_error(resource_deadlock_would_occur) in a thread of the pool.
    void join();
    /// Joins like join(), or until `limit` is reached. Returns whether the threads have been joined. Throws
    /// like join().
    ///
    /// The limit ends the wait for tasks, for outstanding work, and for another thread's join(). When nothing
    /// is left, the call ends the threads and returns true, whatever the limit is. That takes as long as the
    /// destructors of their thread_local objects, and as a task that another thread has just posted.
    ///
    /// If the call gives up, it returns false and has had no effect: the loops still accept and run tasks.
    /// Another join() or a stop() may follow. The destructor calls join() without a limit.
    [[nodiscard]] bool join(const wait_limit& limit);
    /// Joins like join(limit), where the limit is a stop request.
    [[nodiscard]] bool join(std::stop_token token) { return join(wait_limit(std::move(token))); }
    /// Joins like join(limit), where the limit is a duration. With 0 or less it waits for nothing.
    template <class Rep, class Period>
    [[nodiscard]] bool join_for(const std::chrono::duration<Rep, Period>& duration) {
        return join(wait_limit::after(duration));
    }
    /// Joins like join(limit), where the limit is a deadline.
    template <class Clock, class Duration>
    [[nodiscard]] bool join_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return join(wait_limit::until(deadline));
    }

private:
    [[nodiscard]] executor_type of_hash(std::size_t hash) const noexcept;

    std::unique_ptr<loop_threads> threads_;
};

} // namespace ekiden::inline EKIDEN_ABI
