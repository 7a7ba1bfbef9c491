/// A group of tasks that are spawned one by one and awaited together.
///
/// Part: fork. Used by: programs. For a fixed number of calls, parallel_invoke() is cheaper.
#pragma once

#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/fork/detail/task_count.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// What a task_group does when one of its tasks ends with an exception.
enum class on_error : std::uint8_t {
    run_all,  ///< runs the other tasks
    stop_rest ///< calls request_stop()
};

/// A group of tasks of one pool.
///
/// Thread safety: any thread may call spawn(), request_stop(), stop_requested() and get_stop_token() at any
/// time, also the group's own tasks, and also while a wait runs. One thread at a time waits. The group's own
/// tasks must not wait for it.
/// Ordering: everything that the tasks did happens before the return of the wait that has waited for them.
/// Lifetime: a group is reusable. It may be destroyed right after a wait that has not given up, if no other
/// thread is in a member function of it.
class task_group {
public:
    /// Constructs a group for tasks of this_pool(). Throws std::bad_alloc, and whatever default_pool()
    /// throws.
    explicit task_group(on_error then = on_error::run_all);
    /// Constructs a group for tasks of `pool`. Throws std::bad_alloc.
    explicit task_group(thread_pool& pool, on_error then = on_error::run_all);
    /// Waits for all tasks. Drops their exceptions.
    ~task_group();
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;

    /// Queues a task of the group. A worker of the pool calls `f()`, or `f(token)` if it takes the group's
    /// stop token.
    ///
    /// The task is dropped without a call if a stop of the group is requested before it begins, or if the
    /// pool has been stopped. Throws whatever thread_pool::post() throws. It has no effect if it throws.
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
            refuse_empty<callable>(f, "task_group::spawn");
            adding here(*this);
            // A pool that is closed drops the task.
            (void)pool_.post(member<callable>{ticket(*this), std::forward<F>(f)});
            here.is_posted = true;
        }
    }

    /// Waits until all tasks whose spawn() has returned before this call have ended, and the tasks that these
    /// have spawned. A task that another thread spawns meanwhile belongs to this wait or to the next one.
    ///
    /// In a worker of a pool it runs other tasks of that pool meanwhile, like future::wait(). So hold no lock
    /// that these tasks may acquire.
    ///
    /// Throws the exception that came first, if any; suppressed_exceptions() has the others, in the order in
    /// which they came. If the pool was stopped and has dropped tasks, std::system_error(operation_canceled)
    /// counts as the last exception. After request_stop() it may throw std::bad_alloc; then the stop remains
    /// requested. In the child of a fork(), throws std::system_error(operation_not_permitted) if there are
    /// tasks of the parent.
    void wait() { (void)wait(wait_limit()); }

    /// Waits like wait(), until `stop` is requested. Returns and throws like wait(limit).
    [[nodiscard]] bool wait(std::stop_token stop) { return wait(wait_limit(std::move(stop))); }

    /// Waits like wait(), until `limit` is reached: a deadline, a stop request, or both. Returns true if all
    /// tasks have ended, also if `limit` has been reached before. Returns false if it gave up.
    ///
    /// A wait that gives up has no effect: the tasks keep running, their exceptions go to a later wait, and
    /// the group stays usable. A stop of the caller ends the wait only; call request_stop() to stop the
    /// tasks. A worker of a pool runs no other task meanwhile if `limit` can be reached: it blocks, like in
    /// future::wait_for(). Throws like wait(), if it does not give up.
    [[nodiscard]] bool wait(const wait_limit& limit);

    /// Waits like wait(limit) for at most `duration`.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& duration) {
        return wait(wait_limit::after(duration));
    }

    /// Waits like wait(limit) until `deadline` at most, of any clock.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return wait(wait_limit::until(deadline));
    }

    /// Requests a stop. Tasks that have not begun are dropped, and the others see the request in their token.
    /// Returns false if a stop had been requested before.
    ///
    /// The request lasts until a wait returns true or throws. If it comes just before that, it may last until
    /// the next such wait.
    bool request_stop() noexcept;
    /// Returns whether a stop is requested.
    [[nodiscard]] bool stop_requested() const noexcept {
        // [TG2] Acquire: everything before request_stop(). Pairs with the release there.
        return stop_requested_.load(sys::acquire);
    }
    /// Returns the stop token of the tasks. It is valid until the end of the current wait, or else of the
    /// next one.
    [[nodiscard]] std::stop_token get_stop_token() const noexcept;

private:
    /// Counts one task as a member, from construction to destruction.
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
        ticket place; // destroyed after f
        F f;

        void operator()() {
            if (!place.begin()) return;
            try {
                if constexpr (std::invocable<F&, std::stop_token>)
                    std::invoke(f, place.group().get_stop_token());
                else
                    std::invoke(f);
            } catch (...) {
                place.group().failed();
            }
        }
    };

    /// The innermost call of spawn() in this thread. The task that it spawns may be dropped meanwhile. If
    /// spawn() throws, that task does not count as dropped. Whether it throws is known only at the end.
    class adding {
    public:
        explicit adding(task_group& group) noexcept;
        ~adding();
        adding(const adding&) = delete;
        adding& operator=(const adding&) = delete;

        bool is_posted = false;

    private:
        friend class task_group;

        task_group& group_;
        adding* const outer_;
        std::uint64_t dropped_ = 0; // still counted among the group's tasks
    };

    void dropped() noexcept;
    void drop(std::uint64_t tasks, std::uint64_t uncounted) noexcept;
    void failed() noexcept;

    thread_pool& pool_;
    const on_error then_;
    sys::atomic<bool> stop_requested_{false}; // written under lock_
    mutable sys::slow_lock lock_;
    std::stop_source stop_;         // under lock_
    std::exception_ptr first_;      // under lock_
    detail::exception_list others_; // under lock_
    std::uint64_t dropped_ = 0;     // under lock_: tasks that ended without having begun
    detail::task_count tasks_;
};

} // namespace ekiden::inline EKIDEN_ABI
