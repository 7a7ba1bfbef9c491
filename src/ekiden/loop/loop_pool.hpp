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

/// What a loop_pool is made with.
struct loop_pool_options {
    /// The largest accepted number of threads.
    static constexpr unsigned most_threads = 4096;

    unsigned threads = 0;             ///< 0: one per processor that this process may really use
    std::string name = "ekiden-loop"; ///< the threads are called name-0, name-1, ...
    /// Each thread on one of the usable processors, in their order. A hint: not reported if the system
    /// refuses it.
    bool is_pinned = false;
    /// Called by the thread when a task without a future ends with an exception, with the name of the
    /// callable's type. Must not throw. Empty: prints both to standard error and calls std::terminate.
    std::function<void(std::exception_ptr, std::string_view)> on_unhandled_exception = {};
};

/// The threads start with the pool and run each its own context, with the hint 1: nothing that stays on one
/// thread needs a lock. Thread-safe, but for the destructor: any thread may call any function, the pool's own
/// too where it is not said otherwise.
///
/// In the child of a fork() the threads do not exist: executors throw as loop_context says, join() throws
/// std::system_error(operation_not_permitted), the destructor does nothing.
class loop_pool {
public:
    using options = loop_pool_options;
    using executor_type = loop_context::executor_type;

    /// Starts the threads. Throws std::invalid_argument for a bad option; std::bad_alloc and
    /// std::system_error if the system gives out no memory or thread; the threads that had started have ended
    /// then.
    explicit loop_pool(options chosen = {});
    /// Calls join(). Must not run in a thread of the pool: not in a task, a coroutine or its frame, a
    /// thread_local object, nor in `on_unhandled_exception`. Then it stops the program with a message that
    /// says which of these it was, and what to do. stop() may be called there.
    ~loop_pool();
    loop_pool(const loop_pool&) = delete;
    loop_pool& operator=(const loop_pool&) = delete;

    [[nodiscard]] std::size_t size() const noexcept;

    /// Returns the executor of the next thread in turn.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// Returns the executor of thread `index`. Throws std::out_of_range if `index` is not below size().
    [[nodiscard]] executor_type get_executor(std::size_t index) const;
    /// Returns the executor of the thread for `key`: the same one for equal keys. So the tasks of a key run
    /// on one thread, in the order of the posts.
    template <class Key>
        requires requires(const Key& key) {
            { std::hash<Key>()(key) } -> std::convertible_to<std::size_t>;
        }
    [[nodiscard]] executor_type get_executor_for(const Key& key) const
        noexcept(noexcept(std::hash<Key>()(key))) {
        return of_hash(std::hash<Key>()(key));
    }

    /// Tasks that run go on, and their threads end; tasks that are queued are destroyed with the pool,
    /// without running, but a thread that is between two of them just now may begin one more. Does not wait.
    void stop() noexcept;

    /// Waits until no task is queued or running and no work is outstanding on any loop. Then ends the
    /// threads. The wait includes everything that tasks, and the threads that hold outstanding work (timers,
    /// work guards), bring to any loop meanwhile. A task that another thread posts meanwhile may stay in its
    /// queue, and a task that is posted later does. A loop that was stopped on its own, through its context,
    /// has ended its thread. join() does not wait for tasks or work of such a loop. A second call waits for
    /// the first one, and then does nothing. Throws std::system_error(resource_deadlock_would_occur) in a
    /// thread of the pool.
    void join();
    /// As join(), but gives up when `limit` is reached. Returns true if the threads have been joined. Throws
    /// the same as join().
    ///
    /// The limit ends the wait for tasks, for outstanding work, and for another thread's join(). When nothing
    /// is left, the call ends the threads and returns true. That takes as long as the destructors of their
    /// thread_local objects take, and a task that another thread has just posted, whatever the limit is.
    ///
    /// If the call gives up, it returns false and has had no effect: the loops accept and run tasks as
    /// before. Another join() or a stop() may follow. The destructor calls join() without a limit.
    [[nodiscard]] bool join(const wait_limit& limit);
    /// As join(limit), but gives up at a stop request.
    [[nodiscard]] bool join(std::stop_token token) { return join(wait_limit(std::move(token))); }
    /// As join(limit), but gives up after `duration`. With 0 or less it waits for nothing.
    template <class Rep, class Period>
    [[nodiscard]] bool join_for(const std::chrono::duration<Rep, Period>& duration) {
        return join(wait_limit::after(duration));
    }
    /// As join(limit), but gives up at `deadline`.
    template <class Clock, class Duration>
    [[nodiscard]] bool join_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return join(wait_limit::until(deadline));
    }

private:
    [[nodiscard]] executor_type of_hash(std::size_t hash) const noexcept;

    std::unique_ptr<loop_threads> threads_;
};

} // namespace ekiden::inline EKIDEN_ABI
