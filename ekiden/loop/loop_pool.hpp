/// A loop_context for each of several threads: for programs that give each thread its own part of the work.
///
/// Part: loop. Used by: programs.
#pragma once

#include <ekiden/loop/loop_context.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

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

    /// The executor of thread `index`. Throws std::out_of_range if it is not below size().
    [[nodiscard]] executor_type executor(std::size_t index) const;
    /// One after the other.
    [[nodiscard]] executor_type next_executor() const noexcept;
    /// Always the same for equal keys: what belongs to a key stays on one thread, in the order of posting.
    template <class Key>
        requires requires(const Key& key) {
            { std::hash<Key>()(key) } -> std::convertible_to<std::size_t>;
        }
    [[nodiscard]] executor_type executor_for(const Key& key) const noexcept(noexcept(std::hash<Key>()(key))) {
        return of_hash(std::hash<Key>()(key));
    }

    /// Tasks that run go on, and their threads end; tasks that are queued are destroyed with the pool,
    /// without running, but a thread that is between two of them just now may begin one more. Does not wait.
    void stop() noexcept;

    /// Waits until no task is queued or running and no work is outstanding, on any of the loops, then ends
    /// the threads. Includes what tasks and the threads that hold outstanding work (timers, work guards)
    /// bring to any loop meanwhile. What other threads post meanwhile without outstanding work may stay in
    /// the queues, and later posts do. A loop that was stopped by itself, by way of its context, has ended
    /// its thread: what is queued or outstanding there is not waited for. Throws
    /// std::system_error(resource_deadlock_would_occur) in a thread of the pool.
    void join();

private:
    [[nodiscard]] executor_type of_hash(std::size_t hash) const noexcept;

    std::unique_ptr<loop_threads> threads_;
};

} // namespace ekiden::inline EKIDEN_ABI
