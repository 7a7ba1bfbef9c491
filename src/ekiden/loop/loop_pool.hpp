/// A pool of threads with one loop_context for each thread. Use a loop_pool in a program in which each thread
/// has its own part of the work.
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

    unsigned threads = 0; ///< number of threads; 0 means one per processor that this process may use
    std::string name = "ekiden-loop"; ///< the names of the threads are name-0, name-1, ...
    /// If true, pins each thread to one of the usable processors, in the order of the processor numbers. The
    /// option is a hint. If the system refuses to pin a thread, no error is reported.
    bool is_pinned = false;
    /// A thread calls this function when a task without a future throws an exception. The first argument is
    /// the exception, and the second argument is the name of the callable's type. The function must not
    /// throw. If the function is empty, the library prints the exception and the name to standard error and
    /// calls std::terminate.
    std::function<void(std::exception_ptr, std::string_view)> on_unhandled_exception = {};
    /// Each thread of the pool calls this function with its index before its first task. The function can set
    /// up the thread: its name, its priority, its processors, or thread_local objects. Threads call the
    /// function concurrently. A thread may call it before the constructor of the pool has returned, so the
    /// function must not use the pool. If the function throws, `on_unhandled_exception` gets the exception
    /// and the text "on_thread_start", and the thread then runs tasks as usual.
    std::function<void(unsigned)> on_thread_start = {};
    /// Each thread calls this function with its index after its last task, even if `on_thread_start` has
    /// thrown. The thread calls this function before the destructors of its thread_local objects. The
    /// function must not wait for the pool. join() waits for the function. Exceptions are reported like
    /// exceptions of `on_thread_start`, with the text "on_thread_stop".
    std::function<void(unsigned)> on_thread_stop = {};
};

/// A pool of threads. Each thread runs its own loop_context with the concurrency hint 1. If only one of these
/// threads uses some data, the data need no lock. The constructor of the pool starts the threads.
///
/// In the child of a fork(), the threads do not exist. In the child, posts to the executors throw like posts
/// to a loop_context, join() throws std::system_error(operation_not_permitted), and the destructor does
/// nothing.
///
/// Thread safety: all members except the destructor may be called concurrently. A thread of the pool may also
/// call any member, unless the comment of the member forbids this.
class loop_pool {
public:
    using options = loop_pool_options;
    using executor_type = loop_context::executor_type;

    /// Starts the threads. Throws std::invalid_argument for an option that is not allowed. Throws
    /// std::bad_alloc if there is no memory, and std::system_error if the system cannot start a thread.
    /// Before the constructor throws, it ends the threads that it has started.
    explicit loop_pool(options chosen = {});
    /// Calls join(). The destructor must not run in a thread of the pool. A thread of the pool runs tasks,
    /// coroutines, destructors of coroutine frames and of thread_local objects, and `on_unhandled_exception`.
    /// If the destructor runs in a thread of the pool, the program ends with a message that names the caller
    /// and a remedy. A thread of the pool may call stop() instead.
    ~loop_pool();
    loop_pool(const loop_pool&) = delete;
    loop_pool& operator=(const loop_pool&) = delete;

    [[nodiscard]] std::size_t size() const noexcept;

    /// Returns the executor of one thread. Successive calls return the executors of all threads in turn.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// Returns the executor of thread `index`. Throws std::out_of_range if `index` is not below size().
    [[nodiscard]] executor_type get_executor(std::size_t index) const;
    /// Returns the executor of the thread for `key`. Equal keys have the same thread. So the tasks of one key
    /// run on one thread, in the order of the posts.
    template <class Key>
        requires requires(const Key& key) {
            { std::hash<Key>()(key) } -> std::convertible_to<std::size_t>;
        }
    [[nodiscard]] executor_type get_executor_for(const Key& key) const
        noexcept(noexcept(std::hash<Key>()(key))) {
        return of_hash(std::hash<Key>()(key));
    }

    /// Stops the pool. Each thread ends when its running task has returned. Queued tasks are not run. The
    /// destructor of the pool destroys these tasks. However, a thread that is between two tasks during stop()
    /// may begin one more task. The call of stop() does not wait for the threads.
    void stop() noexcept;

    /// Waits until no task is queued or running and no work is outstanding on any loop. Then ends the
    /// threads. During the wait, tasks may post to any loop. Owners of outstanding work, such as timers and
    /// work guards, may also post to any loop. The wait includes the tasks of these posts. If any other
    /// thread posts a task during the wait, the task may stay in the queue. A task that is posted after the
    /// wait always stays in the queue.
    ///
    /// If a single loop was stopped through its context, the thread of that loop has ended. Tasks and
    /// outstanding work of a stopped loop do not delay join(). If join() is called twice, the second call
    /// waits until the first call has returned, and then does nothing. Throws
    /// std::system_error(resource_deadlock_would_occur) in a thread of the pool.
    void join();
    /// Joins like join(), but gives up when `limit` is reached. Returns whether the threads have been joined.
    /// Throws like join().
    ///
    /// The limit ends the wait for tasks, for outstanding work, and for a join() of another thread. When no
    /// work is left, the call ends the threads and returns true, even if the limit is reached while the
    /// threads end. While they end, the threads run the destructors of their thread_local objects. If another
    /// thread has just posted a task, a thread of the pool may also run this task first.
    ///
    /// If the limit ends the wait, the call returns false and has no effect. The loops still accept and run
    /// tasks. The program may call join() or stop() later. The destructor calls join() without a limit.
    [[nodiscard]] bool join(const wait_limit& limit);
    /// Joins like join(limit), where the limit is a stop request.
    [[nodiscard]] bool join(std::stop_token token) { return join(wait_limit(std::move(token))); }
    /// Joins like join(limit), where the limit is a duration. With a duration of 0 or less, the call does not
    /// wait.
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
