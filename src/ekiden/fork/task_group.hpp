/// A group of tasks. A program spawns the tasks one by one, and waits for all of them together.
///
/// Part: fork. Used by: programs. For a fixed number of calls, parallel_invoke() is cheaper.
#pragma once

#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/fork/detail/task_count.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/queue/task_list.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// What a task_group does when one of its tasks throws an exception.
enum class on_error : std::uint8_t {
    run_all,  ///< the other tasks still run
    stop_rest ///< the group requests a stop of its tasks
};

/// Options of a task_group.
struct task_group_options {
    on_error then = on_error::run_all; ///< what the group does when a task throws
    /// At most this number of tasks of the group run at the same time. If `concurrency` is 0, there is no
    /// limit. Tasks that a task of the group posts elsewhere do not count.
    std::size_t concurrency = 0;
};

/// A group of tasks of one pool.
///
/// Thread safety: any thread may call spawn(), request_stop(), stop_requested() and get_stop_token() at any
/// time, even while another thread waits. The group's own tasks may call these four functions, too. Only one
/// thread at a time may wait for the group. A task of the group must not wait for the group.
/// Ordering: everything that a task did happens before the return of the wait() that waited for the task.
/// Lifetime: a group is reusable. A group may be destroyed as soon as a wait has succeeded, if no other
/// thread is in a member function of the group.
class task_group {
public:
    /// Constructs a group for tasks of this_pool(). Throws std::bad_alloc, and whatever default_pool()
    /// throws.
    explicit task_group(on_error then = on_error::run_all);
    /// Constructs a group for tasks of `pool`. Throws std::bad_alloc.
    explicit task_group(thread_pool& pool, on_error then = on_error::run_all);
    /// Constructs a group with options, for tasks of this_pool(). Throws std::bad_alloc, and whatever
    /// default_pool() throws.
    ///
    /// If the number of tasks that run is limited, the other tasks wait in the group. They begin in the order
    /// of the calls of spawn(). A waiting task occupies no worker. A task that waits, for example for a
    /// future, counts as running.
    explicit task_group(const task_group_options& options);
    /// Constructs a group with options, for tasks of `pool`. Throws std::bad_alloc.
    explicit task_group(thread_pool& pool, const task_group_options& options);
    /// Waits for all tasks. Drops the exceptions of the tasks.
    ~task_group();
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;

    /// Queues a task of the group. A worker of the pool calls `f()`, or `f(token)` if `f` takes the group's
    /// stop token.
    ///
    /// The task is dropped without a call if a stop of the group is requested before the task begins, or if
    /// the pool has been stopped. Throws whatever thread_pool::post() throws. If spawn() throws, it has no
    /// effect.
    template <class F>
    void spawn(F&& f) {
        using callable = std::decay_t<F>;
        constexpr bool can_be_copied = std::constructible_from<callable, F>;
        constexpr bool can_be_called =
            std::invocable<callable&> || std::invocable<callable&, std::stop_token>;
        static_assert(can_be_copied, "ekiden: task_group::spawn keeps a copy of the callable: pass one that "
                                     "can be copied, or std::move() it");
        static_assert(can_be_called, "ekiden: task_group::spawn takes a callable without parameters, or with "
                                     "one of type std::stop_token");
        if constexpr (can_be_copied && can_be_called) {
            using result = decltype(std::declval<member<callable>&>().call());
            static_assert(!detail::begins_when_awaited<result>,
                          "ekiden: task_group::spawn: the callable returns a "
                          "coroutine, which would never run: pass it to "
                          "async_scope::spawn()");
            ekiden::refuse_empty<callable>(f, "task_group::spawn");
            adding here(*this);
            // A closed pool drops the task.
            if (concurrency_ == 0)
                (void)pool_.post(member<callable>{ticket(*this), std::forward<F>(f)});
            else
                begin_or_queue(ekiden::make_task(member<callable>{ticket(*this), std::forward<F>(f)}));
            here.is_posted = true;
        }
    }

    /// Waits for all tasks whose spawn() has returned before this call of wait(). Also waits for the tasks
    /// that these tasks spawn. A task that another thread spawns meanwhile belongs to this wait or to the
    /// next wait.
    ///
    /// If a worker of a pool calls wait(), the worker runs other tasks of that pool meanwhile, like in
    /// future::wait(). So the caller must hold no lock that the other tasks may acquire.
    ///
    /// If tasks have thrown, throws the exception that was thrown first. suppressed_exceptions() returns the
    /// other exceptions in the order in which they were thrown. If the pool was stopped and has dropped
    /// tasks, operation_canceled counts as the last exception. After request_stop(),
    /// wait() may throw std::bad_alloc. If wait() throws std::bad_alloc, the stop remains requested. In the
    /// child process of a fork(), throws std::system_error(operation_not_permitted) if tasks of the parent
    /// process have not ended.
    void wait() { (void)wait(wait_limit()); }

    /// Waits like wait(), but gives up when a stop is requested through `stop`. Returns and throws like
    /// wait(limit).
    [[nodiscard]] bool wait(std::stop_token stop) { return wait(wait_limit(std::move(stop))); }

    /// Waits like wait(), but gives up when `limit` is reached. A limit is a deadline, a stop request, or
    /// both. Returns true if all tasks have ended, even if `limit` was reached earlier. Returns false if the
    /// wait gave up.
    ///
    /// A wait that gives up has no effect. The tasks keep running, a later wait throws their exceptions, and
    /// the group stays usable. A stop request in `limit` ends only the wait. Call request_stop() to stop the
    /// tasks. If `limit` can be reached, a worker of a pool blocks during the wait and runs no other task,
    /// like in future::wait_for(). A wait that does not give up throws the same exceptions as wait().
    [[nodiscard]] bool wait(const wait_limit& limit);

    /// Waits like wait(limit) for at most `duration`.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& duration) {
        return wait(wait_limit::after(duration));
    }

    /// Waits like wait(limit), at most until `deadline`. The deadline may be a time of any clock.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return wait(wait_limit::until(deadline));
    }

    /// Requests a stop. Tasks that have not begun are dropped. Tasks that have begun see the request in their
    /// stop token. Returns false if a stop was already requested.
    ///
    /// The request lasts until a wait returns true or throws. A request that comes just before a wait ends
    /// may last until the end of the next wait.
    bool request_stop() noexcept;
    /// Returns whether a stop is requested.
    [[nodiscard]] bool stop_requested() const noexcept {
        // [TG2] Acquire: makes everything visible that happened before request_stop(). Pairs with the release
        // in request_stop().
        return stop_requested_.load(sys::acquire);
    }
    /// Returns the stop token of the tasks. The token is valid until the current wait ends, or until the next
    /// wait ends if no wait is in progress.
    [[nodiscard]] std::stop_token get_stop_token() const noexcept;

private:
    /// Counts one task as a member of the group, from the construction of the ticket to its destruction.
    class ticket {
    public:
        explicit ticket(task_group& group) noexcept : group_(&group) { group.tasks_.add(); }
        ticket(ticket&& other) noexcept : group_(std::exchange(other.group_, nullptr)) {}
        ticket& operator=(ticket&&) = delete;
        ~ticket() {
            if (group_ == nullptr) return;
            if (has_begun_)
                group_->tasks_.end();
            else
                group_->dropped();
        }

        /// Returns false if the task must not run.
        [[nodiscard]] bool begin() noexcept {
            has_begun_ = true;
            return !group_->stop_requested();
        }
        [[nodiscard]] task_group& group() const noexcept { return *group_; }

    private:
        task_group* group_;
        bool has_begun_ = false;
    };

    template <class F>
    struct member {
        ticket place; // declared before f, so that f is destroyed first
        F f;

        void operator()() {
            if (!place.begin()) return;
            try {
                static_cast<void>(call());
            } catch (...) {
                place.group().failed();
            }
        }
        decltype(auto) call() {
            if constexpr (std::invocable<F&, std::stop_token>)
                return std::invoke(f, place.group().get_stop_token());
            else
                return std::invoke(f);
        }
    };

    class runner;

    /// A call of spawn() that is in progress in this thread. The pool may destroy the spawned task during the
    /// call. If spawn() throws afterwards, the destroyed task does not count as dropped. So dropped tasks are
    /// counted when spawn() ends.
    class adding {
    public:
        explicit adding(task_group& group) noexcept;
        ~adding();
        adding(const adding&) = delete;
        adding& operator=(const adding&) = delete;

        bool is_posted = false;

    private:
        friend class task_group;

        [[nodiscard]] static adding* of(const task_group& group) noexcept;

        task_group& group_;
        adding* const outer_;
        std::uint64_t dropped_ = 0; // number of tasks destroyed in this call, which tasks_ still counts
    };

    void begin_or_queue(task* spawned);
    [[nodiscard]] task* next_or_leave() noexcept;
    void drop_place() noexcept;

    void dropped() noexcept;
    void drop(std::uint64_t tasks, std::uint64_t uncounted) noexcept;
    void failed() noexcept;

    thread_pool& pool_;
    const on_error then_;
    const std::size_t concurrency_;           // 0 if there is no limit
    sys::atomic<bool> stop_requested_{false}; // written under lock_
    mutable sys::slow_lock lock_;
    std::stop_source stop_;         // under lock_
    std::exception_ptr first_;      // under lock_
    detail::exception_list others_; // under lock_
    std::uint64_t dropped_ = 0;     // under lock_: number of tasks that were dropped
    std::size_t places_taken_ = 0;  // under lock_: number of runners; less than concurrency_ only if
    task_list queue_;               // under lock_: queue_ is empty
    detail::task_count tasks_;      // counts the tasks and the runners
};

} // namespace ekiden::inline EKIDEN_ABI
